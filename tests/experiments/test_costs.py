"""What runs cost, and how it is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from torch import Tensor

from bison_ocl.experiments.plan import costs
from bison_ocl.experiments.plan.costs import (
    LEARNED,
    SCORED,
    cost,
    lasting,
    seconds_of_a_step,
    step_of_er,
)
from bison_ocl.experiments.train import devices
from bison_ocl.methods import method_class

PROJECT = Path(__file__).parents[2]


def test_costs_grow_with_images_filters_and_memory() -> None:
    er = cost("er", "split-cifar10", 200, {})
    assert er == pytest.approx(5000 + 250)
    assert cost("er", "split-miniimagenet", 200, {}) > 6 * er
    assert cost("er", "split-cifar10", 200, {"filters": "64"}) == pytest.approx(10.24 * er)
    assert cost("er", "split-cifar10", 200, {"buffer_batch": "64"}) > 3 * er
    assert cost("onpro", "split-cifar10", 200, {}) > 10 * cost("onpro", "folder:cows", 200, {})
    small, large = (cost("gdumb", "split-cifar10", memory, {}) for memory in (200, 1000))
    assert small < large
    assert cost("er", "folder:cows", 200, {}) > 0


MEASURED = {
    row["method"]: row["step_ms"]
    for row in json.loads((PROJECT / "benchmarks/step.json").read_text())["rows"]
}
"""milliseconds per step, of the methods that were timed"""


@pytest.mark.parametrize("name", MEASURED)
def test_the_cost_of_a_step_is_near_the_measured_one(name: str) -> None:
    step = method_class(name)
    counted = LEARNED * sum(step.learned) + SCORED * sum(step.scored)
    assert counted == pytest.approx(MEASURED[name] / MEASURED["er"], rel=0.3)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (119, "119 s"), (120, "2.0 min"), (9000, "2.5 h"), (200_000, "2.3 days")],
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert lasting(seconds) == words


def test_a_step_is_really_timed() -> None:
    assert 1e-4 < seconds_of_a_step("cpu") < 60


@pytest.mark.parametrize(
    ("device", "alone", "runs"), [("cpu", False, 1), ("cuda", False, 10), ("cuda", True, 1)]
)
def test_seeds_of_a_gpu_share_a_step_unless_they_run_alone(
    device: str, alone: bool, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def step(device: str, runs: int, precision: str) -> Callable[[], None]:
        asked.append(runs)
        return lambda: None

    times = count(step=5)
    monkeypatch.setattr(costs, "step_of_er", step)
    monkeypatch.setattr(devices, "now", lambda device: next(times))
    assert costs.seconds_of_a_step(device, "tf32", alone) == 5 / runs
    assert asked == [runs]


def test_runs_that_are_trained_together_take_one_step_together() -> None:
    losses = step_of_er("cpu", 3, "fp32")()
    assert isinstance(losses, Tensor)
    assert losses.shape == (3,)
    assert losses.unique().numel() == 1
