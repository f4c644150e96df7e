"""The engine: steps a method on one run, or on many by vmap, and writes their memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch, one_hot, to_float
from bison_ocl.inference.features import CHUNK
from bison_ocl.inference.rule import Rule
from bison_ocl.memory.memory import Write
from bison_ocl.methods.method import Method
from bison_ocl.nets.average import moved
from bison_ocl.state import State

Each = Callable[[Callable[..., Any]], Callable[..., Any]]
Turn = Callable[[Any, Tensor], Any]
"""One of several repeated steps: maps a tree and the number of the turn to the next tree."""
Repeat = Callable[[Turn, Any, Tensor, int], Any]
LEARNED = ("net", "moments", "extra")
"""parts that a refused step leaves unchanged, besides the memory"""


def alone(f: Callable[..., Any]) -> Callable[..., Any]:
    """`each` for one run: the function itself."""
    return f


def in_turn(f: Turn, value: Any, zero: Tensor, times: int) -> Any:
    """`repeat` by a loop: f(...f(f(value, 0), 1)..., times − 1)."""
    for turn in range(times):
        value = f(value, zero + turn)
    return value


@dataclass(frozen=True)
class Learned:
    """The changes of a step to a state, except its memory."""

    changed: dict[str, Any]
    write: Write | None
    loss: Tensor
    finite: Tensor
    """whether the loss and the new network and optimiser are finite"""


@dataclass(frozen=True)
class Engine:
    """Runs one method; `each` is `alone` or `tree.vectorised`, the only code aware of seeds."""

    method: Method
    each: Each = alone
    repeat: Repeat = in_turn

    def step(self, me: State, new: Batch) -> tuple[State, Tensor]:
        """Learn from one stream batch, then store it; the new state and the loss."""
        return self.stored(me, new, self.learn(me, new))

    def stored(self, me: State, new: Batch, learned: Learned) -> tuple[State, Tensor]:
        """The state after a step, from its pure part, and the loss.

        A run refuses a step that is not finite: network, optimiser, extras and memory stay
        unchanged. The step and its labels still count, and the loss is NaN. `Memory.filled`, an
        upper bound for all runs of a stack, grows too.
        """
        ok, memory = learned.finite, me.memory
        if learned.write is not None:
            memory = memory.write(new, learned.write.only_if(ok, memory))
        before = {name: getattr(me, name) for name in LEARNED}
        kept = tree.choose(ok, {name: learned.changed[name] for name in before}, before)
        after = replace(me, **learned.changed | kept, memory=memory, refused=me.refused + ~ok)
        if me.average is not None:
            average = moved(me.average, after.net, me.step, self.method.average, ok)
            after = replace(after, average=average)
        return after, learned.loss.masked_fill(~ok, torch.nan)

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
            write = replace(write, fields=write.fields | update.fields)
        changed = {"net": me.net, "moments": me.moments, "extra": me.extra, "table": me.table}
        finite = tree.finite((update.loss, me.net, me.moments))
        return Learned(changed | {"step": me.step + 1}, write, update.loss, finite)

    def end_task(self, me: State) -> State:
        """End the current task; the next batch belongs to the next one."""

        def close(me: State) -> dict[str, Any]:
            me = self.method.end_task(me)
            return {"net": me.net, "moments": me.moments, "extra": me.extra, "task": me.task + 1}

        return replace(me, **self.each(close)(me), later=True)

    @torch.no_grad()
    def summarise(self, me: State) -> Any:
        """The method's summary of the current state, for predicting."""
        summary = self.each(self.method.summarise)(me)

        def fit(summary: Any, turn: Tensor) -> Any:
            return self.each(self.method.fit)(me, summary, turn)

        return self.repeat(fit, summary, torch.zeros_like(me.step), self.method.fits(me))

    @torch.no_grad()
    def scores(self, me: State, summary: Any, x: Tensor) -> Tensor:
        """Scores by the method's own rule. x: [n, C, H, W] or, stacked, [S, n, C, H, W]"""
        dtype = me.net.dtype

        def predict(me: State, summary: Any, x: Tensor) -> Tensor:
            return self.method.predict(me, summary, to_float(x, dtype))

        return self._by_chunks(predict, me, summary, x)

    @torch.no_grad()
    def summarise_by(self, rule: Rule, me: State, summary: Any) -> Any:
        """The method's summary and that of another inference rule, on the same network."""

        def of_rule(me: State, summary: Any) -> Any:
            return rule.summarise(self.method.network(me, summary), me.memory, me.classes)

        return summary, self.each(of_rule)(me, summary)

    @torch.no_grad()
    def scores_by(self, rule: Rule, me: State, both: Any, x: Tensor) -> Tensor:
        """Scores by another inference rule, from both summaries."""
        dtype = me.net.dtype

        def predict(me: State, both: Any, x: Tensor) -> Tensor:
            return rule.scores(self.method.network(me, both[0]), both[1], to_float(x, dtype))

        return self._by_chunks(predict, me, both, x)

    def _by_chunks(self, f: Callable[..., Tensor], me: State, summary: Any, x: Tensor) -> Tensor:
        chunks = torch.split(x, CHUNK, dim=-4)
        return torch.cat([self.each(f)(me, summary, chunk) for chunk in chunks], dim=-2)

    def confusion(self, me: State, test: Batch) -> Tensor:
        """Counts [C, C] of test images by label (row) and prediction (column), in run ids."""
        return self.count(me, test, self.scores(me, self.summarise(me), test.x))

    def count(self, me: State, test: Batch, scores: Tensor) -> Tensor:
        """The confusion matrix of scores on labelled images."""

        def count(labels: Tensor, predicted: Tensor) -> Tensor:
            rows, columns = (one_hot(ids, me.classes).double() for ids in (labels, predicted))
            return (rows.T @ columns).long()

        confusion: Tensor = self.each(count)(test.y, scores.argmax(-1))
        return confusion
