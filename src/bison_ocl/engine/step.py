"""The engine: steps a method on one run, or on many by vmap, and writes their memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.engine.scoring import Scoring
from bison_ocl.memory.memory import Write
from bison_ocl.nets.average import moved
from bison_ocl.nets.kernels.leaves import finite, restored
from bison_ocl.state import State

LEARNED = ("net", "moments", "extra")
"""parts that a refused step leaves unchanged, besides the memory"""


@dataclass(frozen=True)
class Learned:
    """The changes of a step to a state, except its memory."""

    changed: dict[str, Any]
    write: Write | None
    loss: Tensor


@dataclass(frozen=True)
class Engine(Scoring):
    """Runs one `method`; `each` maps its hooks over the seeds of a stack (engine/scoring.py)."""

    def step(self, me: State, new: Batch) -> tuple[State, Tensor]:
        """Learn from one stream batch, then store it; the new state and the loss."""
        return self.stored(me, new, self.learn(me, new))

    def stored(self, me: State, new: Batch, learned: Learned) -> tuple[State, Tensor]:
        """The state after a step, from its pure part, and the loss.

        A run refuses a step that is not finite: network, optimiser, extras and memory stay
        unchanged. The step and its labels still count, and the loss is NaN. `Memory.filled`, an
        upper bound for all runs of a stack, grows too.
        """
        before = {name: getattr(me, name) for name in LEARNED}
        made = {name: learned.changed[name] for name in LEARNED}
        ok, memory = finite((learned.loss, made["net"], made["moments"]), learned.loss), me.memory
        if learned.write is not None:
            memory = memory.write(new, learned.write.only_if(ok, memory))
        kept, refused = restored(ok, made, before), ~ok
        after = replace(me, **learned.changed | kept, memory=memory, refused=me.refused + refused)
        if me.average is not None:
            average = moved(me.average, after.net, me.step, self.method.average, ok)
            after = replace(after, average=average)
        return after, learned.loss.masked_fill(refused, torch.nan)

    def learn(self, me: State, new: Batch) -> Learned:
        """The pure part of a step, per run."""
        learned: Learned = self.each(self._learn)(me, new)
        return learned

    def _learn(self, me: State, new: Batch) -> Learned:
        me = replace(me.meet(new.y), net=me.net.copy())
        update = self.method.update(me, new)
        net, moments = self.method.optimiser()(me.net, update.grads, me.moments)
        me = replace(me.with_extra(**update.extra), net=net, moments=moments)
        write = self.method.store(me, new)
        if write is not None:
            arrived = me.memory.arrivals(me.step * self.method.stream_batch, len(new))
            write = replace(write, fields=write.fields | update.fields | arrived)
        changed = {"net": me.net, "moments": me.moments, "extra": me.extra, "table": me.table}
        return Learned(changed | {"step": me.step + 1}, write, update.loss)

    def end_task(self, me: State) -> State:
        """End the current task; the next batch belongs to the next one."""

        def close(me: State) -> dict[str, Any]:
            me = self.method.end_task(me)
            return {"net": me.net, "moments": me.moments, "extra": me.extra, "task": me.task + 1}

        return replace(me, **self.each(close)(me), later=True)
