"""A learner computes in its precision, after loading too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bison_ocl import Learner, UserError
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.experiments.train.run import Run
from bison_ocl.files import checkpoint
from bison_ocl.methods import method_class
from bison_ocl.methods.settings import settings_of
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.stream.class_incremental import class_incremental
from tests.learners import backbone, everything, herd, on_disk, small_data, state, trained
from tests.tiny import same


@pytest.mark.parametrize("precision", ["tf32", "bf16", "fp32"])
def test_a_file_keeps_the_precision_of_a_learner(precision: Any, tmp_path: Path) -> None:
    learner = trained(backbone=None, filters=2, precision=precision)
    learner.save(tmp_path / "herd")
    again = Learner.load(tmp_path / "herd")
    for one in (learner, again):
        network = state(one).net.design.backbone
        assert isinstance(network, ResNet18)
        assert (network.precision, network.fused) == (precision, False)
        one.observe(*herd(20, seed=1))
    assert same(everything(learner), everything(again))


def test_precisions_compute_in_other_numbers() -> None:
    one, other = (trained(backbone=None, filters=2, precision=name) for name in ("tf32", "bf16"))
    assert not same(everything(one), everything(other))


@pytest.mark.parametrize("said", ["fp16", 3, None, ["tf32"]])
def test_a_file_with_another_precision_is_refused(said: Any, tmp_path: Path) -> None:
    tensors, header = on_disk(trained(), tmp_path / "herd")
    checkpoint.write(tmp_path / "herd", tensors, header | {"precision": said})
    with pytest.raises(UserError, match="for 'precision'"):
        Learner.load(tmp_path / "herd", backbone=backbone())


def test_the_model_of_a_run_computes_in_the_precision_of_the_run(tmp_path: Path) -> None:
    stream = class_incremental(small_data(), 0)
    method = method_class("er")(filters=2)
    spec = Spec("er", "small", 20, 0, settings_of(method), precision="bf16")
    run = Run(spec, method, stream)
    run.learner().save(tmp_path / "model")
    for model in (run.learner(), Learner.load(tmp_path / "model")):
        network = state(model).net.design.backbone
        assert isinstance(network, ResNet18)
        assert network.precision == "bf16"


def test_on_a_cpu_compiling_changes_nothing() -> None:
    one, other = (trained(backbone=None, filters=2, compile=how) for how in (False, True))
    assert same(everything(one), everything(other))
