"""Seeds trained together: what each seed alone would see, store and, but for rounding, learn."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from bison_ocl.data import load
from bison_ocl.engine.step import Engine
from bison_ocl.experiments.records import results as records
from bison_ocl.experiments.records.record import Losses
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.experiments.train.group import Group
from bison_ocl.experiments.train.run import Run
from bison_ocl.experiments.train.runner import Job, run
from bison_ocl.files import checkpoint, durable
from bison_ocl.methods.settings import configured
from bison_ocl.state import State
from bison_ocl.stream.streams import stream_of
from tests.digits import shrunk, use
from tests.experiments.disk import complaint, failing

SEEDS = [3, 4]


@pytest.fixture(autouse=True)
def small_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The digits at their own 8x8, to save time."""
    use(monkeypatch, shrunk)


class Watching:
    """Says nothing; may pull the plug at a step."""

    def __init__(self, stop_at: int = -1) -> None:
        self.stop_at = stop_at

    def stepped(self, task: int, step: int) -> None:
        if step == self.stop_at:
            raise InterruptedError

    def tested(self, task: int, accuracy: float) -> None: ...

    def paused(self, runs: Sequence[Run]) -> None: ...


def job(folder: Path, method: str = "er", lr: str = "1e-6", **changes: Any) -> Job:
    small = {"filters": "2", "stream_batch": "100", "lr": lr}
    asked = {"save_model": True, "seeds_at_once": 2, **changes}
    return Job(method, "split-digits", 20, SEEDS, small, folder, **asked)


def trained(
    asked: Job, stop_at: int = -1, say: Callable[[str], None] = lambda _: None
) -> list[dict[str, Any]]:
    watch: Callable[[Run], Any] = lambda _: nullcontext(Watching(stop_at))  # noqa: E731
    return run(asked, watch, say)


def interrupted(folder: Path, **changes: Any) -> None:
    """Two seeds, stopped in the third task."""
    with pytest.raises(InterruptedError):
        trained(job(folder, lr="0.1", **{"checkpoint_every": 1e-9, **changes}), stop_at=8)


def saved_steps(folder: Path) -> list[int]:
    paths = sorted((folder / "checkpoints").glob("*.safetensors"))
    return [checkpoint.read(path)[1]["progress"]["step"] for path in paths]


def models(folder: Path) -> list[dict[str, torch.Tensor]]:
    return [checkpoint.read(path)[0] for path in sorted((folder / "models").iterdir())]


@pytest.mark.parametrize("method", ["er", "bison"])
def test_together_is_as_alone(method: str, tmp_path: Path) -> None:
    alone = trained(job(tmp_path / "alone", method, seeds_at_once=1))
    together = trained(job(tmp_path / "together", method))
    for one, other in zip(alone, together, strict=True):
        assert (one.identity, one.class_order) == (other.identity, other.class_order)
        assert torch.allclose(torch.tensor(one.accuracy), torch.tensor(other.accuracy), atol=0.03)
    for one_model, other_model in zip(
        models(tmp_path / "alone"), models(tmp_path / "together"), strict=True
    ):
        assert one_model.keys() == other_model.keys()
        assert torch.equal(one_model["memory.x"], other_model["memory.x"])
        assert torch.equal(one_model["memory.y"], other_model["memory.y"])
        for name, value in one_model.items():
            assert torch.allclose(value.double(), other_model[name].double(), atol=1e-4), name


def test_an_interrupted_group_goes_on_bit_for_bit(tmp_path: Path) -> None:
    whole = trained(job(tmp_path / "whole", lr="0.1"))
    interrupted(tmp_path / "cut")
    assert len(list((tmp_path / "cut" / "checkpoints").iterdir())) == 2
    resumed = trained(job(tmp_path / "cut", lr="0.1", resume=True))
    assert [r.accuracy for r in resumed] == [r.accuracy for r in whole]
    assert [r.losses for r in resumed] == [r.losses for r in whole]
    for one, other in zip(models(tmp_path / "whole"), models(tmp_path / "cut"), strict=True):
        assert all(torch.equal(one[name], other[name]) for name in one)
    assert not list((tmp_path / "cut" / "checkpoints").iterdir())


# --- groups that change ---


def test_a_group_goes_on_at_its_size_whatever_fits_now(tmp_path: Path) -> None:
    whole = trained(job(tmp_path / "whole", lr="0.1", seeds_at_once=1))
    interrupted(tmp_path / "cut", seeds_at_once=1)
    said: list[str] = []
    resumed = trained(job(tmp_path / "cut", lr="0.1", resume=True), say=said.append)
    assert [r.losses for r in resumed] == [r.losses for r in whole]
    assert [r.timing.seeds_at_once for r in resumed] == [1, 1]
    assert not any("group size" in line for line in said)


def test_a_group_that_must_change_says_so(tmp_path: Path) -> None:
    interrupted(tmp_path)
    said: list[str] = []
    done = trained(job(tmp_path, lr="0.1", resume=True, seeds_at_once=1), say=said.append)
    assert [r.timing.seeds_at_once for r in done] == [1, 1]
    told = [line for line in said if "the group size changed from 2 to 1" in line]
    assert [line.split()[1] for line in told] == ["3:", "4:"]


def test_a_failure_between_two_files_leaves_the_group_together(tmp_path: Path) -> None:
    save, written = Run.save, []

    def failing(self: Run, path: Path) -> None:
        if len(written) == 5:
            raise InterruptedError
        written.append(self.spec.seed)
        save(self, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "save", failing)
        interrupted(tmp_path)
    assert written == [3, 4, 3, 4, 3]
    assert saved_steps(tmp_path) == [2, 2]
    assert len(trained(job(tmp_path, lr="0.1", resume=True))) == 2
    assert not list((tmp_path / "checkpoints").iterdir())


def test_a_kill_between_two_renames_leaves_the_group_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever call of a save is the last, the group goes on as if nothing had happened."""
    monkeypatch.setattr(durable, "is_gone", lambda _: True)
    whole = trained(job(tmp_path / "whole", lr="0.1"))
    interrupted(tmp_path / "cut", checkpoint_every=1e9)
    assert saved_steps(tmp_path / "cut") == [6, 6]
    steps: set[int] = set()
    for at in range(11, 100):  # from the last call before the commit on
        folder = tmp_path / str(at)
        shutil.copytree(tmp_path / "cut", folder)
        resumed = job(folder, lr="0.1", resume=True, checkpoint_every=1e9)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Group, "_save", killed_in(Group._save, at))
            try:
                trained(resumed)
            except Killed:
                pass
            else:
                break
        said: list[str] = []
        ended = trained(resumed, say=said.append)
        found = {line.split("step ")[1].split()[0] for line in said if "continues from" in line}
        assert len(found) == 1, said
        steps |= {int(step) for step in found}
        assert not any("group size" in line for line in said)
        assert [r.losses for r in ended] == [r.losses for r in whole]
        assert [r.accuracy for r in ended] == [r.accuracy for r in whole]
        for one, other in zip(models(tmp_path / "whole"), models(folder), strict=True):
            assert all(torch.equal(one[name], other[name]) for name in one)
        assert not list((folder / "checkpoints").iterdir())
    assert len(steps) == 2


def test_a_full_disk_at_any_moment_loses_and_doubles_nothing(tmp_path: Path) -> None:
    whole = trained(job(tmp_path / "whole", lr="0.1", checkpoint_every=1e9))
    for at in (10, 60, 118):  # of about 130 calls
        asked = job(tmp_path / str(at), lr="0.1", checkpoint_every=1e9)
        with failing(at, OSError(errno.ENOSPC, "No space left on device")) as found:
            told = complaint(trained, asked)
        assert found.failed
        assert told is not None
        assert "No space left on device" in told
        resumed = trained(replace(asked, resume=True))
        assert [r.losses for r in resumed] == [r.losses for r in whole]
        assert [r.seed for r in records.read(asked.results)] == SEEDS
        assert not list(asked.checkpoints.iterdir())


def test_a_checkpoint_is_removed_only_after_the_record_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(records, "append", killed)
    with pytest.raises(Killed):
        trained(job(tmp_path, lr="0.1"))
    assert saved_steps(tmp_path) == [15, 15]


class Killed(BaseException):
    """Nothing catches it, as nothing catches kill -9."""


def killed_in(save: Callable[..., None], at: int) -> Callable[..., None]:
    def once(self: Group, savings: Any) -> None:
        with failing(at, Killed()):
            save(self, savings)

    return once


def test_checkpoints_of_an_older_version_go_on(tmp_path: Path) -> None:
    whole = trained(job(tmp_path / "whole", lr="0.1"))
    interrupted(tmp_path / "cut")
    for path in (tmp_path / "cut" / "checkpoints").iterdir():
        tensors, header = checkpoint.read(path)
        del header["seeds_at_once"], header["spec"]["precision"], header["progress"]["losses"]
        del header["progress"]["peak_megabytes"]
        checkpoint.write(path, tensors, header)
    resumed = trained(job(tmp_path / "cut", lr="0.1", resume=True))
    assert [r.accuracy for r in resumed] == [r.accuracy for r in whole]
    for one, other in zip(resumed, whole, strict=True):
        steps = other.losses.steps
        points = zip(steps, other.losses.loss, strict=True)
        known = [loss if at > 7 else None for at, loss in points]
        assert one.losses == Losses(steps, known)


def test_checkpoints_that_call_float32_on_a_cpu_tf32_are_found(tmp_path: Path) -> None:
    whole = trained(job(tmp_path / "whole", lr="0.1"))
    interrupted(tmp_path / "cut")
    folder = tmp_path / "cut" / "checkpoints"
    for path in list(folder.glob("*.safetensors")):
        tensors, header = checkpoint.read(path)
        earlier = replace(Spec(**header["spec"]), precision="tf32")
        path.unlink()
        header["spec"] = vars(earlier)
        checkpoint.write(folder / f"{earlier.name}.safetensors", tensors, header)
    resumed = trained(job(tmp_path / "cut", lr="0.1", resume=True))
    assert [r.losses for r in resumed] == [r.losses for r in whole]
    assert not list(folder.glob("*.safetensors"))


# --- how many seeds, and what they are told ---


@pytest.mark.parametrize(
    ("name", "asked", "groups"),
    [
        ("cpu", (None, 1.0), [1, 1, 1]),
        ("cuda", (None, 1.0), [2, 1]),
        ("cuda", (None, 0.5), [1, 1, 1]),
        ("cpu", (3, 1.0), [3]),
        ("cuda", (1, 1.0), [1, 1, 1]),
    ],
)
def test_seeds_at_once_are_chosen_or_told(
    name: str,
    asked: tuple[int | None, float],
    groups: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from bison_ocl.experiments.train import devices, runner

    found: list[int] = []
    monkeypatch.setattr(devices, "is_cuda", lambda device: device == "cuda")
    monkeypatch.setattr(devices, "resident", lambda dataset, _: dataset)
    monkeypatch.setattr(devices, "free_bytes", lambda share: int(1000 * share))
    monkeypatch.setattr(runner, "bytes_of_one", lambda run: 400)
    monkeypatch.setattr(runner, "new_run", lambda job, spec, *_: on_cpu(job, spec))
    monkeypatch.setattr(runner, "run_group", lambda job, runs, watch: found.append(len(runs)) or [])
    many = replace(job(tmp_path, "finetune"), seeds=[1, 2, 3], device=name)
    asking = replace(many, seeds_at_once=asked[0], share=asked[1])
    with pytest.raises(KeyError):  # nothing was trained
        trained(asking)
    assert found == groups


def on_cpu(asked: Job, spec: Spec) -> Run:
    method = configured(asked.method, asked.data, asked.settings)
    return Run(spec, method, stream_of(spec.stream, load(asked.data), spec.seed))


def test_one_test_serves_the_group_and_watchers_hear_the_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[int, float]] = []
    sets: list[torch.Size] = []
    scores = Engine.scores

    def noting(self: Engine, me: State, summary: Any, x: torch.Tensor) -> torch.Tensor:
        sets.append(x.shape[:1])
        return scores(self, me, summary, x)

    monkeypatch.setattr(Engine, "scores", noting)
    monkeypatch.setattr(Watching, "tested", lambda self, *told: heard.append(told))
    done = trained(job(tmp_path))
    assert sets == [(2,)] * 5
    assert [task for task, _ in heard] == [0, 1, 2, 3, 4]
    for task, accuracy in heard:
        rows = [record.accuracy[task][: task + 1] for record in done]
        assert accuracy == pytest.approx(torch.tensor(rows).mean().item())


def test_times_and_peak_are_shared_out_and_measured_when_the_device_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bison_ocl.experiments.train import devices

    asked: list[str] = []

    def now(name: str) -> float:
        asked.append(name)
        return float(len(asked))

    monkeypatch.setattr(devices, "now", now)
    monkeypatch.setattr(devices, "peak_megabytes", lambda _: 90.0)
    for record in trained(job(tmp_path)):
        timing = record.timing
        assert (timing.peak_MB, timing.seeds_at_once) == (45.0, 2)
        assert (timing.train_s, timing.test_s) == (2.5, 2.5)
    assert asked == ["cpu"] * 20  # the start and the end of five tasks and of five tests


def test_overlapping_streams_go_together_too(tmp_path: Path) -> None:
    blurry = {"stream": "blurry:disjoint=50,spill=25", "lr": "1e-6"}
    alone = trained(job(tmp_path / "alone", seeds_at_once=1, **blurry))
    together = trained(job(tmp_path / "together", **blurry))
    for one, other in zip(alone, together, strict=True):
        assert one.anytime.steps == other.anytime.steps
        assert torch.allclose(
            torch.tensor(one.anytime.accuracy),
            torch.tensor(other.anytime.accuracy),
            atol=0.05,
        )
