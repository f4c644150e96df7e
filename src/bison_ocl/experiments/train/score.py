"""A test: all test images of the classes met so far, classified once, for all runs of a stack.

Confusion counts come from it, by the method's own rule and by others on the same network.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine.step import Engine
from bison_ocl.experiments.train.progress import Counts
from bison_ocl.inference.rules import RULES
from bison_ocl.state import State

OWN = "own"
"""The method's own rule."""


def confusions(
    engine: Engine, me: State, tests: Sequence[Batch], rules: Sequence[str] = ()
) -> list[dict[str, Counts]]:
    """For each run its counts by rule. me: one run's state, or a stack where there are more tests.

    Test sets of one length are classified in one go, others run by run.
    """
    summary = engine.summarise(me)
    if len(tests) == 1:
        return [counts(engine, me, summary, tests[0], rules)]
    if len({len(test) for test in tests}) == 1:
        by_rule = counts(engine, me, summary, tree.stack(tests), rules)
        return [{rule: of_runs[i] for rule, of_runs in by_rule.items()} for i in range(len(tests))]
    alone = Engine(engine.method)
    return [
        counts(alone, tree.pick(me, i), tree.pick(summary, i), test, rules)
        for i, test in enumerate(tests)
    ]


def counts(
    engine: Engine, me: State, summary: Any, test: Batch, rules: Sequence[str]
) -> dict[str, Any]:
    """Confusion counts by its own rule and others: a matrix each, or for a stack a list of them."""
    found = {OWN: engine.scores(me, summary, test.x)}
    for rule in rules:
        both = engine.summarise_by(RULES[rule], me, summary)
        found[rule] = engine.scores_by(RULES[rule], me, both, test.x)
    return {rule: engine.count(me, test, scores).tolist() for rule, scores in found.items()}


def logs(engine: Engine, me: State, runs: int) -> list[dict[str, float | None]]:
    """For each run the numbers that its method finds worth keeping."""
    values = {
        name: value.reshape(runs).tolist()
        for name, value in engine.each(engine.method.log)(me).items()
    }
    return [{name: finite(of_runs[i]) for name, of_runs in values.items()} for i in range(runs)]


def finite(value: float) -> float | None:
    """A number that JSON can hold; None once training has diverged."""
    return value if math.isfinite(value) else None
