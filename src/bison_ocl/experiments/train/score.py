"""Test all runs of a stack: confusion counts over the test images of the classes seen so far.

The method's own rule and other readouts of the same network give one matrix each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine.step import Engine
from bison_ocl.experiments.records.record import Counts
from bison_ocl.inference.readouts import READOUTS, Readout
from bison_ocl.inference.rule import Summary
from bison_ocl.state import State

OWN = "own"
"""The method's own rule."""


Read = dict[str, tuple[State, Summary]]
"""a state and the method's summary of it, for live and for averaged weights"""


def confusions(
    engine: Engine, me: State, tests: Sequence[Batch], also: Sequence[str] = ()
) -> list[dict[str, Counts]]:
    """The counts of each run by readout. me: one state, or a stack if there are several tests

    Test sets of equal length are classified together, others run by run.
    """
    own = Readout("averaged" if engine.method.reads_average else "live")
    readouts = {OWN: own} | {name: READOUTS[name] for name in also}
    read: Read = {
        weights: read_by(engine, me, weights)
        for weights in dict.fromkeys(readout.weights for readout in readouts.values())
    }
    if len(tests) == 1:
        return [counts(engine, read, tests[0], readouts)]
    if len({len(test) for test in tests}) == 1:
        by_name = counts(engine, read, tree.stack(tests), readouts)
        return [{name: of_runs[i] for name, of_runs in by_name.items()} for i in range(len(tests))]
    alone = Engine(engine.method)
    return [counts(alone, tree.pick(read, i), test, readouts) for i, test in enumerate(tests)]


def read_by(engine: Engine, me: State, weights: str) -> tuple[State, Summary]:
    """The state whose network is read, and the method's summary of it."""
    me = me.averaged() if weights == "averaged" else me
    return me, engine.summarise(me)


def counts(
    engine: Engine, read: Read, test: Batch, readouts: Mapping[str, Readout]
) -> dict[str, Any]:
    """Confusion counts by readout: a matrix, or a list of them for a stack."""
    found: dict[str, Any] = {}
    for name, readout in readouts.items():
        me, summary = read[readout.weights]
        if readout.rule is None:
            scores = engine.scores(me, summary, test.x)
        else:
            both = engine.summarise_by(readout.rule, me, summary)
            scores = engine.scores_by(readout.rule, me, both, test.x)
        found[name] = engine.count(me, test, scores).tolist()
    return found


def logs(engine: Engine, me: State, runs: int) -> list[dict[str, float | None]]:
    """The numbers that the method logs, per run."""
    values = {
        name: value.reshape(runs).tolist()
        for name, value in engine.each(engine.method.log)(me).items()
    }
    return [{name: finite(of_runs[i]) for name, of_runs in values.items()} for i in range(runs)]


def finite(value: float) -> float | None:
    """A number that JSON can hold; None once training has diverged."""
    return value if math.isfinite(value) else None
