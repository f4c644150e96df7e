"""A rule of inference reads the network and the memory of any learner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from bison_ocl import Learner, UserError
from bison_ocl.batch import to_float
from bison_ocl.engine.step import Engine
from bison_ocl.files import checkpoint
from bison_ocl.inference.rules import RULES
from bison_ocl.learner.calibration import by_rule
from tests.learners import ANIMALS, backbone, everything, herd, on_disk, state, trained
from tests.tiny import images, same


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_reads_the_network_and_the_memory(rule: str, tmp_path: Path) -> None:
    learner, plain = trained("er", rule=rule, refresh=1), trained("er")
    assert same(everything(learner), everything(plain))
    x, me = images(torch.arange(8)), state(learner)
    summary = RULES[rule].summarise(me.net, me.memory, me.classes)
    scores = RULES[rule].scores(me.net, summary, to_float(x))[:, : len(learner.labels)]
    shares = (scores / by_rule(learner.method, RULES[rule])).softmax(1)
    assert torch.equal(torch.from_numpy(learner.predict_proba(x)), shares)
    learner.save(tmp_path / "herd")
    again = Learner.load(tmp_path / "herd", backbone=backbone())
    assert (again.predict_proba(x) == learner.predict_proba(x)).all()
    more, y = herd(20, seed=1)
    learner.observe(more, [ANIMALS[i] for i in y])
    assert not (again.predict_proba(x) == learner.predict_proba(x)).all()


def test_rules_also_read_the_network_that_gdumb_trains_when_asked() -> None:
    learner, x = trained("gdumb", rule="ld", epochs=1), images(torch.arange(8))
    me, engine = state(learner), Engine(learner.method)
    net = learner.method.network(me, engine.summarise(me))
    scores = RULES["ld"].scores(net, RULES["ld"].summarise(net, me.memory, me.classes), to_float(x))
    shares = scores[:, : len(learner.labels)].softmax(1)
    assert torch.equal(torch.from_numpy(learner.predict_proba(x)), shares)


@pytest.mark.parametrize("said", ["lda", 3, ["ld"]])
def test_a_file_with_another_rule_is_refused(said: Any, tmp_path: Path) -> None:
    tensors, header = on_disk(trained(), tmp_path / "herd")
    checkpoint.write(tmp_path / "herd", tensors, header | {"rule": said})
    with pytest.raises(UserError, match="for 'rule'"):
        Learner.load(tmp_path / "herd", backbone=backbone())
