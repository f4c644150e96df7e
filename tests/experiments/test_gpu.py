"""On a GPU: data are there, steps wait for nothing, groups fit and resume bit for bit."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from bison_ocl.experiments.train.group import Group
from bison_ocl.experiments.train.grouping import bytes_of_one
from bison_ocl.methods import METHODS
from tests.contract.test_resume import Stop, Watcher, fresh
from tests.experiments.test_group import SEEDS, interrupted, job, models, trained

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here"),
]


class Strict(Watcher):
    """Lets no step wait, from the second of the second task, when its graph is recorded."""

    def stepped(self, task: int, step: int) -> None:
        if step == 5:
            torch.cuda.set_sync_debug_mode("error")
        if step == 7:
            torch.cuda.set_sync_debug_mode("default")
            raise Stop


# Once in a process, PyTorch warns that the mode is new.
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype feature")
@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("name", sorted(METHODS))
def test_no_step_makes_the_host_wait(name: str, seeds: int) -> None:
    runs = [fresh(name, seed, device="cuda") for seed in range(seeds)]
    assert runs[0].stream.dataset.train.x.is_cuda
    try:
        with pytest.raises(Stop):
            Group(runs).train(Strict())
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("name", ["bison", "gdumb"])
def test_a_run_on_a_gpu_sees_and_stores_what_one_on_a_cpu_does(name: str) -> None:
    (there,) = Group([one := fresh(name, device="cuda")]).train(Watcher())
    (here,) = Group([other := fresh(name)]).train(Watcher())
    assert torch.equal(one.me.memory.x[:20].cpu(), other.me.memory.x[:20])
    assert torch.equal(one.me.memory.y[:20].cpu(), other.me.memory.y[:20])
    assert (there.class_order, there.environment.device_type) == (here.class_order, "cuda")
    assert there.timing.peak_MB is not None
    assert here.timing.peak_MB is None
    assert there.losses.loss[0] == pytest.approx(here.losses.loss[0], rel=1e-2)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_run_is_measured(name: str) -> None:
    assert 10**5 < bytes_of_one(fresh(name, device="cuda")) < 10**10


def test_seeds_that_fit_are_trained_together(tmp_path: Path) -> None:
    for record in trained(job(tmp_path, device="cuda", seeds_at_once=None)):
        assert record.timing.seeds_at_once == len(SEEDS)
        assert record.timing.peak_MB > 0


@pytest.mark.parametrize("seeds_at_once", [1, 2])
def test_an_interrupted_group_goes_on_bit_for_bit(seeds_at_once: int, tmp_path: Path) -> None:
    asked = {"device": "cuda", "seeds_at_once": seeds_at_once}
    whole = trained(job(tmp_path / "whole", lr="0.1", **asked))
    interrupted(tmp_path / "cut", **asked)
    resumed = trained(job(tmp_path / "cut", lr="0.1", resume=True, **asked))
    assert [r.accuracy for r in resumed] == [r.accuracy for r in whole]
    assert [r.losses for r in resumed] == [r.losses for r in whole]
    for one, other in zip(models(tmp_path / "whole"), models(tmp_path / "cut"), strict=True):
        assert all(torch.equal(one[name], other[name]) for name in one)
