"""The curve of the training loss: exact intervals, sums that are summed on the device."""

from __future__ import annotations

import math

import pytest
import torch

from bison_ocl.experiments.records.record import Losses
from bison_ocl.experiments.train.group import Group
from bison_ocl.experiments.train.loss_curve import POINTS, Intervals, LossSums
from tests.contract.test_resume import Watcher, fresh


@pytest.mark.parametrize(
    ("steps", "length", "points"),
    [(1, 1, 1), (12, 1, 12), (100, 1, 100), (101, 2, 51), (5000, 50, 100), (5001, 51, 99)],
)
def test_intervals_cover_every_step_once(steps: int, length: int, points: int) -> None:
    intervals = Intervals(steps)
    assert (intervals.length, len(intervals.ends)) == (length, points)
    assert points <= POINTS
    assert intervals.ends == sorted(set(intervals.ends))
    assert intervals.ends[-1] == steps
    assert {
        b - a for a, b in zip([0, *intervals.ends][:-1], intervals.ends[:-1], strict=False)
    } <= {length}


@pytest.mark.parametrize("runs", [1, 3])
def test_means_are_those_of_the_steps(runs: int) -> None:
    losses = torch.rand(250, runs, generator=torch.Generator().manual_seed(0))
    intervals = Intervals(250)
    sums = LossSums(intervals, [intervals.start(0, [])] * runs, "cpu")
    for step, loss in enumerate(losses, 1):
        sums.add(step, loss if runs > 1 else loss[0])
    for run, found in enumerate(sums.read()):
        curve = intervals.curve(found)
        assert curve.steps[:2] == [3, 6]
        assert curve.steps[-1] == 250
        wanted = [part[:, run].double().mean().item() for part in losses.split(3)]
        assert curve.loss == pytest.approx(wanted)


def test_the_last_interval_may_be_short() -> None:
    intervals = Intervals(201)
    sums = [float(length) for length in [3] * 67]
    assert intervals.curve(sums) == Losses(list(range(3, 202, 3)), [1.0] * 67)
    assert Intervals(202).curve([3.0] * 67 + [1.0]).loss == [1.0] * 68


def test_a_diverged_loss_is_none() -> None:
    assert Intervals(3).curve([1.0, math.inf, math.nan]) == Losses([1, 2, 3], [1, None, None])


def test_checkpoints_without_sums_leave_their_intervals_unknown() -> None:
    intervals = Intervals(400)
    sums = intervals.start(6, [])
    assert [math.isnan(x) for x in sums[:3]] == [True, True, False]
    assert sums[2:] == [0.0] * 98
    assert intervals.start(6, [5.0, 1.0]) == [5.0, 1.0]
    assert intervals.start(0, []) == [0.0] * 100


@pytest.mark.parametrize("seeds", [1, 2])
def test_a_record_holds_the_losses_of_the_steps(seeds: int) -> None:
    group, seen = Group([fresh("er", seed) for seed in range(seeds)]), []
    step = group.stepper.step

    def noting(new: object) -> torch.Tensor:
        seen.append(step(new).clone().reshape(seeds))  # type: ignore[arg-type]
        return seen[-1] if seeds > 1 else seen[-1][0]

    group.stepper.step = noting  # type: ignore[method-assign]
    for run, record in enumerate(group.train(Watcher())):
        assert record.losses.steps == list(range(1, 13))
        assert record.losses.loss == [loss[run].double().item() for loss in seen]
