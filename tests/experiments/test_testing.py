"""Tests of stacked runs: the counts of each run tested alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine.step import Engine
from bison_ocl.experiments.train.score import OWN, confusions, logs
from bison_ocl.inference.rules import RULES
from bison_ocl.methods import METHODS, method_class
from bison_ocl.methods.method import Method
from bison_ocl.state import State
from tests.tiny import begin, held_out, stream

SEEDS = 3


def trained(name: str) -> tuple[Method, list[State]]:
    """Runs of two tasks in float64, so that no rounding decides a prediction."""
    method = method_class(name)()
    if hasattr(method, "epochs"):
        method = replace(method, epochs=2)  # type: ignore[call-arg]
    states = []
    for seed in range(SEEDS):
        engine, me = Engine(method), begin(method, seed)
        for task in stream(seed, steps=3):
            for new in task:
                me, _ = engine.step(me, new)
            me = engine.end_task(me)
        states.append(me)
    return method, states


def alone(method: Method, states: list[State], tests: list[Batch], rules: Any) -> list[Any]:
    return [
        confusions(Engine(method), me, [test], rules)[0]
        for me, test in zip(states, tests, strict=True)
    ]


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_stack_gives_the_counts_of_its_runs(name: str) -> None:
    method, states = trained(name)
    rules = list(RULES) if method.replays else []
    mixed = [torch.randperm(40, generator=torch.Generator().manual_seed(i)) for i in range(SEEDS)]
    tests = [held_out()[order] for order in mixed]
    engine = Engine(method, tree.vectorised)
    found = confusions(engine, tree.stack(states), tests, rules)
    assert found == alone(method, states, tests, rules)
    assert [set(counts) for counts in found] == [{OWN, *rules}] * SEEDS
    assert all(torch.tensor(counts[OWN]).sum() == 40 for counts in found)


@pytest.mark.parametrize("name", ["bison", "gdumb"])
def test_test_sets_of_different_lengths_are_taken_one_by_one(name: str) -> None:
    method, states = trained(name)
    tests = [held_out()[: 40 - 7 * i] for i in range(SEEDS)]
    found = confusions(Engine(method, tree.vectorised), tree.stack(states), tests, ["ncm"])
    assert found == alone(method, states, tests, ["ncm"])
    assert [int(torch.tensor(counts[OWN]).sum()) for counts in found] == [40, 33, 26]


@pytest.mark.parametrize("name", ["bison", "er"])
def test_logs_of_a_stack_are_those_of_its_runs(name: str) -> None:
    method, states = trained(name)
    found = logs(Engine(method, tree.vectorised), tree.stack(states), SEEDS)
    assert found == [logs(Engine(method), me, 1)[0] for me in states]
    assert all(bool(log) == (name == "bison") for log in found)


def test_a_number_that_json_cannot_hold_is_none() -> None:
    method, (me, *_) = trained("bison")
    diverged = replace(me, net=me.net.with_scalar("a", float("nan")))
    assert logs(Engine(method), diverged, 1)[0]["alpha"] is None
