"""A learner on a GPU: steps are graphs, nothing waits, threads and modules work. Needs a GPU."""

from __future__ import annotations

import copy
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from bison_ocl import Learner
from bison_ocl.engine.capture import Captured
from bison_ocl.engine.pace import AHEAD
from bison_ocl.methods import METHODS
from bison_ocl.nets.resnet import ResNet18
from tests.learners import backbone, herd, in_threads, quick_settings, state
from tests.tiny import images, same, snapshot

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here"),
]


# Once in a process, PyTorch warns that the mode is new.
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype feature")
@pytest.mark.parametrize("name", sorted(METHODS))
def test_no_observe_makes_the_host_wait(name: str) -> None:
    learner = Learner(name, memory=20, device="cuda", **quick_settings(name))
    learner.observe(*herd(60))
    learner.new_task()
    learner.observe(*herd(30))
    x, y = herd(20, seed=1)
    torch.cuda.set_sync_debug_mode("error")
    try:
        learner.observe(x, y)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert isinstance(learner._training.stepper, Captured)
    assert learner._training.stepper.graphs


@pytest.mark.parametrize("precision", ["tf32", "bf16", "fp32"])
def test_a_file_keeps_the_precision(precision: str, tmp_path: Path) -> None:
    learner = Learner("bison", memory=20, filters=2, device="cuda", precision=precision)
    learner.observe(*herd(40))
    learner.save(tmp_path / "herd")
    again = Learner.load(tmp_path / "herd", device="cuda")
    for one in (learner, again):
        network = state(one).net.design.backbone
        assert isinstance(network, ResNet18)
        assert (network.precision, network.fused) == (precision, True)
        one.observe(*herd(20, seed=1))
    assert same(snapshot(state(learner).net), snapshot(state(again).net))


# PyTorch reads its own archive through a buffer that it cannot write to, and warns of it.
@pytest.mark.filterwarnings("ignore:The given buffer is not writable")
@pytest.mark.parametrize("name", ["bison", "gdumb"])
def test_an_exported_model_runs_on_a_cpu(name: str, tmp_path: Path) -> None:
    settings = quick_settings(name) | {"device": "cuda", "precision": "fp32"}
    learner = Learner(name, memory=20, **settings)
    learner.observe(*herd(60))
    learner.export(tmp_path / "model.pt2")
    x, _ = herd(200, seed=1)
    _, scores, _ = torch.export.load(tmp_path / "model.pt2").module()(x)
    assert torch.allclose(scores, learner._scores(x)[1], atol=1e-3)


def test_compiled_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BISON_OCL_CACHE", str(tmp_path))
    learner = Learner("er", memory=20, filters=2, device="cuda", compile=True)
    learner.observe(*herd(47))
    learner.flush()
    assert len(list((tmp_path / "compiled").iterdir())) == 1, "a batch of seven is not compiled"
    assert set(learner.predict(images(torch.arange(4)))) <= {0, 1, 2, 3}


def test_a_module_of_the_callers_own_is_not_recorded() -> None:
    learner = Learner("bison", memory=20, backbone=backbone(), device="cuda")
    learner.observe(*herd(40))
    assert not isinstance(learner._training.stepper, Captured)
    assert len(learner.predict(images(torch.arange(4)))) == 4


def test_learners_record_and_replay_in_threads() -> None:
    def trained(seed: int) -> Learner:
        learner = Learner("bison", memory=20, filters=2, seed=seed, device="cuda")
        for part in range(5):
            learner.observe(*herd(23, classes=2 + 2 * part, seed=part))
            learner.predict(images(torch.arange(4)))
        return learner

    alone, together = [trained(seed) for seed in range(3)], {}

    def work(seed: int) -> None:
        together[seed] = trained(seed)

    in_threads(*(lambda seed=seed: work(seed) for seed in range(3)))  # type: ignore[misc]
    for seed, learner in enumerate(alone):
        assert same(snapshot(state(learner).net), snapshot(state(together[seed]).net))


def test_a_prediction_does_not_wait_for_queued_work() -> None:
    learner = Learner("bison", memory=20, filters=2, device="cuda")
    learner.observe(*herd(40))
    x = images(torch.arange(4))
    before = learner.predict_proba(x)
    torch.cuda._sleep(2 * 10**9)  # a second or so
    queued = torch.cuda.Event()
    queued.record()
    after = learner.predict_proba(x)
    assert not queued.query(), "the prediction waited for the queue"
    assert (before == after).all()


def test_few_steps_are_queued() -> None:
    learner = Learner("bison", memory=20, filters=2, device="cuda")
    learner.observe(*herd(200))
    assert learner._training.pace is not None
    assert len(learner._training.pace._queued) == AHEAD
    assert len(copy.deepcopy(learner).predict(images(torch.arange(4)))) == 4


def test_predictions_while_another_thread_learns_are_those_of_a_snapshot() -> None:
    """One thread records, replays and refreshes; another predicts. Each answer is of one step."""
    learner = Learner("bison", memory=20, filters=2, refresh=1, device="cuda")
    x, (seen, labels) = images(torch.arange(4)), herd(300)
    learner.observe(seen[:20], labels[:20])
    answers = [learner.predict_proba(x)]
    done = threading.Event()

    def learn() -> None:
        try:
            for i in range(20, 300, 10):
                learner.observe(seen[i : i + 10], labels[i : i + 10])
        finally:
            done.set()

    def ask() -> None:
        while not done.is_set():
            answers.append(learner.predict_proba(x))

    in_threads(learn, ask)
    assert learner._training.steps == 30
    twin = Learner("bison", memory=20, filters=2, refresh=1, device="cuda")
    twin.observe(seen[:20], labels[:20])
    possible = [twin.predict_proba(x)]
    for i in range(20, 300, 10):
        twin.observe(seen[i : i + 10], labels[i : i + 10])
        possible.append(twin.predict_proba(x))
    assert len(answers) > 1
    for answer in answers:
        assert any(np.array_equal(answer, one) for one in possible)
