"""A run taken up from its checkpoint ends bitwise as one that was never interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from bison_ocl.batch import Batch
from bison_ocl.data.dataset import Dataset
from bison_ocl.errors import UserError
from bison_ocl.experiments.records.record import Record, as_values
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.experiments.train.devices import resident
from bison_ocl.experiments.train.group import Group
from bison_ocl.experiments.train.run import Run, Saving
from bison_ocl.experiments.train.run import Watcher as Watching
from bison_ocl.files import checkpoint
from bison_ocl.methods import METHODS, method_class
from bison_ocl.methods.settings import configured, settings_of
from bison_ocl.nets.precision import Precision
from bison_ocl.stream.class_incremental import class_incremental
from tests.tiny import images, same, snapshot

SIZE = 17
"""images of a class: the last of the four batches of a task is short"""


class Stop(Exception):
    """The run is over here, as if the machine had failed."""


class Watcher:
    """Ends a run after so many steps, or right after a task was tested."""

    def __init__(self, step: int | None = None, tested: int | None = None) -> None:
        self.step, self.task = step, tested

    def stepped(self, task: int, step: int) -> None:
        if step == self.step:
            raise Stop

    def tested(self, task: int, accuracy: float) -> None:
        if task == self.task:
            raise Stop

    def paused(self, runs: Sequence[Run]) -> None:
        pass


def dataset() -> Dataset:
    train, test = (torch.arange(6).repeat_interleave(n) for n in (SIZE, 5))
    names = tuple("abcdef")
    return Dataset("tiny", Batch(images(train), train), Batch(images(test, 1), test), 6, 3, names)


def fresh(name: str, seed: int = 1, precision: Precision = "tf32", device: str = "cpu") -> Run:
    rounds = {"epochs": 2} if hasattr(method_class(name), "epochs") else {}
    method = configured(name, None, {"filters": 2} | rounds)
    memory = 20 if method.replays else 0
    spec = Spec(name, "tiny", memory, seed, settings_of(method), precision=precision)
    return Run(spec, method, class_incremental(resident(dataset(), device), seed), device)


def train(run: Run, watcher: Watching, saving: Saving | None = None) -> Record:
    """Train a run on its own."""
    (record,) = Group([run]).train(watcher, [saving] if saving else [])
    return record


def result(record: Record) -> dict[str, Any]:
    """What a record says apart from how long it took."""
    return {key: value for key, value in as_values(record).items() if key != "timing"}


def kept(run: Run) -> dict[str, torch.Tensor]:
    """All of a state but rows of the memory that hold no image."""
    return snapshot(checkpoint.pack(run.me)[0])


@pytest.mark.parametrize("name", sorted(METHODS))
def test_resumed_equals_uninterrupted(name: str, tmp_path: Path) -> None:
    whole = fresh(name)
    wanted = train(whole, Watcher())
    saving = Saving(tmp_path / "run.safetensors", every=1e-9)
    for interruption in (  # at the first step, in the middle, at a task's end, after the last step
        Watcher(step=2),
        Watcher(step=7),
        Watcher(tested=1),
        Watcher(step=whole.steps),
    ):
        part = fresh(name)
        if saving.path.exists():
            part.resume(saving.path)
        with pytest.raises(Stop):
            train(part, interruption, saving)
    last = fresh(name)
    last.resume(saving.path)
    assert last.progress.step == whole.steps - 1
    found = train(last, Watcher())
    assert result(found) == result(wanted)
    assert same(kept(last), kept(whole))
    for one, other in zip(
        last.me.net.params["backbone"].values(),
        whole.me.net.params["backbone"].values(),
        strict=True,
    ):
        assert one.stride() == other.stride()


def test_a_checkpoint_after_the_last_task_holds_the_record(tmp_path: Path) -> None:
    run = fresh("er")
    wanted = train(run, Watcher(), Saving(tmp_path / "run.safetensors"))
    again = fresh("er")
    again.resume(tmp_path / "run.safetensors")
    assert train(again, Watcher()) == wanted


def test_checkpoints_come_at_task_ends_whatever_the_interval(tmp_path: Path) -> None:
    run = fresh("finetune")
    with pytest.raises(Stop):
        train(run, Watcher(step=6), Saving(tmp_path / "run.safetensors", every=3600))
    again = fresh("finetune")
    again.resume(tmp_path / "run.safetensors")
    assert (again.progress.task, again.progress.batch, again.progress.step) == (1, 0, 4)
    assert len(again.progress.confusions) == 1


def test_thread_count_is_restored(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        fresh("finetune").save(tmp_path / "run.safetensors")
        torch.set_num_threads(1)
        fresh("finetune").resume(tmp_path / "run.safetensors")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_the_header_names_everything_outside_the_tensors(tmp_path: Path) -> None:
    fresh("er").save(tmp_path / "run.safetensors")
    _, header = checkpoint.read(tmp_path / "run.safetensors")
    assert {"kind", "spec", "progress", "fixed", "threads", "memory_format"} <= header.keys()
    assert header["seeds_at_once"] is None
    assert header["threads"] == torch.get_num_threads()


@pytest.mark.parametrize("other", ["bison", "seed", "learner"])
def test_checkpoints_of_another_run_are_refused(other: str, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    stranger = fresh("bison") if other == "bison" else fresh("er", seed=2)
    if other == "learner":
        fresh("er").learner().save(path)
    else:
        stranger.save(path)
    with pytest.raises(UserError, match="belongs to another run: remove it or choose another"):
        fresh("er").resume(path)
