"""Which seeds are trained together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bison_ocl.data import load
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.experiments.train import devices
from bison_ocl.experiments.train.grouping import COPIES, GRAPHS, bytes_of_one, fitting, in_step
from bison_ocl.experiments.train.progress import Progress
from bison_ocl.experiments.train.run import Run
from bison_ocl.methods import METHODS
from bison_ocl.methods.settings import configured
from bison_ocl.stream.streams import stream_of
from tests.contract.test_resume import fresh
from tests.tiny import same, snapshot


@pytest.mark.parametrize(
    ("free", "of_one", "wanted", "found"),
    [
        (1000, 100, 10, 8),
        (1000, 100, 5, 5),
        (1000, 100, 1, 1),
        (1250, 100, 10, 10),
        (1249, 100, 10, 9),
        (50, 100, 10, 1),
        (0, 100, 10, 1),
        (10**12, 10**9, 100, 100),
    ],
)
def test_as_many_as_fit_and_at_least_one(free: int, of_one: int, wanted: int, found: int) -> None:
    assert fitting(free, of_one, wanted) == found


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_run_is_measured_on_a_copy_by_its_steps_and_tests(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    peaks = iter([1_000, 20_000])

    def peak(work: Callable[[], object]) -> int:
        work()
        return next(peaks)

    monkeypatch.setattr(devices, "peak_bytes", peak)
    run = fresh(name)
    before, test = snapshot(run.me), devices.size_of(run.stream.dataset.test)
    assert bytes_of_one(run) == COPIES * devices.size_of(run.me) + 21_000 + 2 * test
    assert same(snapshot(run.me), before)
    assert run.me.memory.filled == 0


def test_every_recorded_graph_keeps_the_memory_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "peak_bytes", lambda work: 10**9)
    assert bytes_of_one(fresh("finetune")) // 10**9 == GRAPHS


def natural(seeds: int) -> list[Run]:
    return runs_on(["natural"] * seeds)


def runs_on(streams: list[str]) -> list[Run]:
    data, method = load("split-digits"), configured("finetune", None, {"filters": "2"})
    return [
        Run(Spec("finetune", data.name, 0, seed, {}), method, stream_of(text, data, seed))
        for seed, text in enumerate(streams)
    ]


def seeds(groups: list[list[Run]]) -> list[list[int]]:
    return [[run.spec.seed for run in group] for group in groups]


def test_only_runs_in_step_go_together() -> None:
    runs = runs_on(["natural"] * 3 + ["iid", "blurry:disjoint=50", "natural"])
    runs[1].progress = Progress(step=1)
    assert seeds(in_step(runs, most=2)) == [[0, 2], [5], [1], [3], [4]]


def test_a_run_that_is_tested_already_waits_for_no_test() -> None:
    runs = natural(3)
    runs[0].progress = Progress(task=0, batch=9, step=9)
    for run in runs[1:]:
        run.progress = Progress(task=1, batch=0, step=9)
    assert seeds(in_step(runs, most=3)) == [[0], [1, 2]]


def test_interrupted_runs_go_on_in_groups_of_their_size() -> None:
    runs = natural(7)
    for run in runs[:4]:
        run.progress, run.together = Progress(step=3), 2
    assert seeds(in_step(runs, most=5)) == [[0, 1], [2, 3], [4, 5, 6]]
    assert seeds(in_step(runs, most=1)) == [[seed] for seed in range(7)]
