"""The memory holds images of the stream, and unused rows are never read."""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl.contract.moments import CLASSES, copied, course, demand, demand_same, held, moments
from bison_ocl.contract.world import held_out
from bison_ocl.engine.step import Engine
from bison_ocl.methods.method import Method
from bison_ocl.state import State

RUBBISH = (10**6, -5, 0)
"""labels of rows that hold no image"""


def picture(x: Tensor) -> bytes:
    return x.numpy().tobytes()


def stream_images(method: Method) -> None:
    """The memory holds images of the stream with their labels, if the method replays."""
    label = {
        picture(x): int(y)
        for task in course(0)
        for batch in task
        for x, y in zip(batch.x, batch.y, strict=True)
    }
    for me, _ in moments(method):
        memory = held(me).memory
        demand(memory.filled == len(memory.y) <= me.memory.filled, "`filled` is no upper bound")
        found = [label.get(picture(x)) for x in memory.x]
        demand(found == memory.y.tolist(), "a row is no image of the stream, or has another label")
        demand(bool(me.seen[memory.y].all()), "a row has a label that was not seen")
    demand((memory.filled > 0) == method.replays, "`replays` does not say whether rows are kept")


def poisoned(me: State, label: int) -> State:
    """A copy with garbage in every unused row and the spare row."""
    me = copied(me)
    empty = slice(int(me.memory.used.sum()), None)
    me.memory.x[empty] = 255 - me.memory.x[empty]
    me.memory.y[empty] = label
    for rows in me.memory.fields.values():
        if rows.dtype == torch.bool:
            rows[empty] = ~rows[empty]
        else:
            rows[empty] = float("nan") if rows.is_floating_point() else label
    return me


def empty_rows(method: Method) -> None:
    """Memory rows without an image are never read."""
    engine, test = Engine(method), held_out(classes=CLASSES)
    for label in RUBBISH:
        for me, new in moments(method):
            bad = poisoned(me, label)
            same = torch.equal(engine.confusion(me, test), engine.confusion(bad, test))
            demand(same, "predictions read a row without an image")
            ends = held(engine.end_task(me)), held(engine.end_task(bad))
            demand_same(*ends, "the end of a task reads a row without an image")
            (good, loss), (bad, bad_loss) = engine.step(me, new), engine.step(bad, new)
            steps = (held(good), loss), (held(bad), bad_loss)
            demand_same(*steps, "a step reads a row without an image")
