"""Runs on streams: the stream is part of a run's identity; anytime accuracy where tasks overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from bison_ocl.batch import Batch
from bison_ocl.data.dataset import Dataset
from bison_ocl.engine.step import Engine
from bison_ocl.evaluate.anytime import area_under_curve
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.experiments.train.run import Run, Saving
from bison_ocl.experiments.train.score import OWN
from bison_ocl.methods.settings import configured, settings_of
from bison_ocl.report.study.entry import Entry, with_intransigence
from bison_ocl.report.study.experiments import experiments
from bison_ocl.state import State
from bison_ocl.stream.streams import STREAMS, stream_of
from tests.contract.test_resume import train
from tests.made_up import record
from tests.tiny import images

BLURRY = "blurry:disjoint=50,spill=25"


class Stop(Exception):
    pass


class Watcher:
    def __init__(self, stop: int | None = None) -> None:
        self.stop = stop

    def stepped(self, task: int, step: int) -> None:
        if step == self.stop:
            raise Stop

    def tested(self, task: int, accuracy: float) -> None:
        pass

    def paused(self, runs: Sequence[Run]) -> None:
        pass


def dataset() -> Dataset:
    """Ten classes, so that order:confusion fits, of 8 + 3 images."""
    train, test = (torch.arange(10).repeat_interleave(n) for n in (8, 3))
    names = tuple("abcdefghij")
    return Dataset("tiny", Batch(images(train), train), Batch(images(test, 1), test), 10, 5, names)


def fresh(text: str, name: str = "er", seed: int = 1) -> Run:
    method = configured(name, None, {"filters": 2, "stream_batch": 5})
    memory = 20 if method.replays else 0
    spec = Spec(name, "tiny", memory, seed, settings_of(method), text)
    return Run(spec, method, stream_of(text, dataset(), seed))


def result(record: Record) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key != "timing"}


@pytest.mark.parametrize("name", STREAMS)
def test_every_stream_can_be_run(name: str) -> None:
    run = fresh("order:confusion" if name == "order" else name, "finetune")
    record = train(run, Watcher())
    tasks = {"one-class": 10, "iid": 1}.get(name, 5)
    assert [len(row) for row in record.accuracy] == [tasks] * tasks
    assert record.stream == run.spec.stream
    assert (record.anytime is not None) == (name == "blurry")
    assert (record.metrics.A_AUC is not None) == (name == "blurry")


def test_anytime_accuracy_is_measured_at_equal_distances() -> None:
    run = fresh(BLURRY)
    record = train(run, Watcher())
    steps, accuracy = record.anytime.steps, record.anytime.accuracy
    every = run.anytime_every
    assert steps == [*range(every, run.steps, every), run.steps]
    assert len(steps) <= 10 * run.stream.tasks
    assert area_under_curve(steps, accuracy) == record.metrics.A_AUC
    right = sum(row[i] for i, row in enumerate(record.counts[-1]))
    assert accuracy[-1] == right / 30, "the last one is the accuracy at the end"


def test_tests_on_the_way_change_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    tested = train(fresh(BLURRY), Watcher())
    monkeypatch.setattr("bison_ocl.experiments.train.run.ANYTIME_POINTS", 1)
    seldom = train(fresh(BLURRY), Watcher())
    assert len(seldom.anytime.steps) < len(tested.anytime.steps)
    assert seldom.confusion == tested.confusion


def test_the_last_step_is_tested_at_any_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    run = fresh(BLURRY)
    assert run.steps % 7
    monkeypatch.setattr(Run, "anytime_every", 7)
    steps = train(run, Watcher()).anytime.steps
    assert steps == [*range(7, run.steps, 7), run.steps]


def test_anytime_accuracy_is_of_the_classes_met_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a network that is always right it is 1, however few they are."""

    def right(engine: Engine, me: State, tests: Sequence[Batch], also: Sequence[str] = ()) -> Any:
        return [{OWN: torch.bincount(test.y, minlength=10).diag().tolist()} for test in tests]

    monkeypatch.setattr("bison_ocl.experiments.train.group.confusions", right)
    assert set(train(fresh(BLURRY), Watcher()).anytime.accuracy) == {1}


def test_anytime_accuracy_survives_a_resume(tmp_path: Path) -> None:
    whole = fresh(BLURRY)
    wanted = train(whole, Watcher())
    saving = Saving(tmp_path / "run.safetensors", every=1e-9)
    for stop in (3, 8, whole.steps):
        part = fresh(BLURRY)
        if saving.path.exists():
            part.resume(saving.path)
        with pytest.raises(Stop):
            train(part, Watcher(stop), saving)
    last = fresh(BLURRY)
    last.resume(saving.path)
    assert result(train(last, Watcher())) == result(wanted)


def test_the_stream_does_not_depend_on_the_method() -> None:
    er, finetune = fresh(BLURRY, "er"), fresh(BLURRY, "finetune")
    assert er.stream.order == finetune.stream.order
    assert all(map(torch.equal, er.stream.images, finetune.stream.images))


def test_the_stream_is_part_of_a_runs_identity() -> None:
    plain, other = (Spec("er", "d", 10, 0, {}, text) for text in ("class-incremental", "iid"))
    assert plain == Spec("er", "d", 10, 0, {})
    assert plain.name != other.name
    assert plain.identity != other.identity


def entry(method: str, stream: str, accuracy: float = 0.5, **changes: Any) -> Entry:
    matrix = [[accuracy, 0], [accuracy, accuracy]]
    made = record(method=method, stream=stream, accuracy=matrix, **changes)
    return Entry(**vars(made))


def test_intransigence_is_paired_by_stream() -> None:
    found = with_intransigence([entry("er", "natural"), entry("finetune", "order:0/1")])
    assert found[0].metrics.AI is None
    same = [entry("er", "natural"), entry("finetune", "natural", accuracy=0.75)]
    assert with_intransigence(same)[0].metrics.AI == 0.25


def test_intransigence_is_paired_by_how_a_folder_was_cut_and_by_the_closest_settings() -> None:
    run = entry("er", "natural")
    small = entry("finetune", "natural", accuracy=0.75)
    other = replace(small, data_options={"image_size": 64}, accuracy=[[0.9, 0], [0.9, 0.9]])
    assert with_intransigence([run, other])[0].metrics.AI is None
    assert with_intransigence([run, small, other])[0].metrics.AI == 0.25
    far = replace(small, settings={"lr": 9.0}, accuracy=[[0.9, 0], [0.9, 0.9]])
    near = replace(small, settings={"lr": 0.1})
    for references in ([far, near], [near, far]):
        found = with_intransigence([replace(run, settings={"lr": 0.1}), *references])
        assert found[0].metrics.AI == 0.25


def test_tables_never_mix_streams() -> None:
    found = experiments(
        "mine", [entry("er", "natural"), entry("er", "natural", seed=1), entry("er", "iid")]
    )
    assert [(group.place.stream, group.n) for group in found] == [("natural", 2), ("iid", 1)]


def test_a_folders_run_has_one_file_name() -> None:
    assert "/" not in Spec("er", "folder:/home/me/my pictures", 10, 0, {}).name
