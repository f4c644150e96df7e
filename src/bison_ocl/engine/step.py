"""Runs one method: the step on one run, or on many by vmap; the only place that writes memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch, one_hot, to_float
from bison_ocl.memory.memory import Memory, Write
from bison_ocl.memory.ncm import CHUNK, Means, class_means, nearest_mean
from bison_ocl.methods.method import Method
from bison_ocl.state import State

Each = Callable[[Callable[..., Any]], Callable[..., Any]]
Turn = Callable[[Any, Tensor], Any]
"""One of many like steps: from a tree and the number of the turn to the tree after it."""
Repeat = Callable[[Turn, Any, Tensor, int], Any]
LEARNED = ("net", "moments", "extra")
"""what a refused step leaves as it was, beside the memory"""


def alone(f: Callable[..., Any]) -> Callable[..., Any]:
    """`each` for one run: the function as it is."""
    return f


def in_turn(f: Turn, value: Any, zero: Tensor, times: int) -> Any:
    """`repeat` step by step: f(...f(f(value, 0), 1)..., times − 1)."""
    for turn in range(times):
        value = f(value, zero + turn)
    return value


@dataclass(frozen=True)
class Learned:
    """What a step changes in a state, memory apart."""

    changed: dict[str, Any]
    write: Write | None
    loss: Tensor
    finite: Tensor
    """whether the loss and all that the step leaves behind of network and optimiser are finite"""


@dataclass(frozen=True)
class Engine:
    """One method; `each` is `alone` or `tree.vectorised`, the only thing that knows about seeds."""

    method: Method
    each: Each = alone
    repeat: Repeat = in_turn

    def step(self, me: State, new: Batch) -> tuple[State, Tensor]:
        """One pass over one stream batch: learn from it, then store it. Also the loss."""
        return self.stored(me, new, self.learn(me, new))

    def stored(self, me: State, new: Batch, learned: Learned) -> tuple[State, Tensor]:
        """The state after a step whose pure part is done, and the loss.

        A run whose step is not finite refuses it: network, optimiser, extras and memory stay as
        they were. The step is counted, the labels are met, and the loss is NaN. `Memory.filled`,
        an upper bound for all runs of a stack, grows too.
        """
        ok, memory = learned.finite, me.memory
        if learned.write is not None:
            memory = memory.write(new, learned.write.only_if(ok, memory))
        before = {name: getattr(me, name) for name in LEARNED}
        kept = tree.choose(ok, {name: learned.changed[name] for name in before}, before)
        after = replace(me, **learned.changed | kept, memory=memory, refused=me.refused + ~ok)
        return after, learned.loss.masked_fill(~ok, torch.nan)

    def learn(self, me: State, new: Batch) -> Learned:
        """The pure part of a step, for each run."""
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
        """Close the current task; the next batch belongs to the next one."""

        def close(me: State) -> dict[str, Any]:
            me = self.method.end_task(me)
            return {"net": me.net, "moments": me.moments, "extra": me.extra, "task": me.task + 1}

        return replace(me, **self.each(close)(me), later=True)

    @torch.no_grad()
    def summarise(self, me: State) -> Any:
        """What predicting needs, for the state as it is now."""
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
    def ncm_scores(self, me: State, summary: Any, x: Tensor, normalise: bool = True) -> Tensor:
        """Scores of the same trained network by nearest class mean, whatever its own rule is."""
        dtype, network = me.net.dtype, self.method.network

        def means(me: State, summary: Any) -> Means:
            return class_means(network(me, summary), me.memory, me.classes, normalise)

        def predict(me: State, both: Any, x: Tensor) -> Tensor:
            z = network(me, both[0]).features(to_float(x, dtype), "eval")
            return nearest_mean(z, both[1], normalise)

        both = (summary, self.each(means)(me, summary))
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


class Eager:
    """Steps a state operator by operator; `Captured` replays CUDA graphs."""

    def __init__(self, engine: Engine, me: State) -> None:
        self.engine, self.me = engine, me
        self._overwritten: list[tuple[Memory, Batch, Write]] | None = None

    def step(self, new: Batch) -> Tensor:
        """One step on one stream batch; the loss."""
        me, learned = self.me, self.engine.learn(self.me, new)
        if self._overwritten is not None and learned.write is not None:
            self._overwritten.append((me.memory, *me.memory.overwritten(learned.write)))
        after, loss = self.engine.stored(me, new, learned)
        self.take(after)
        return loss

    def end_task(self) -> None:
        """Close the current task."""
        self.take(self.engine.end_task(self.me))

    def take(self, after: State) -> None:
        """Go on from a state."""
        self.me = after

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """All that happens inside takes effect or, where it fails, none of it does.

        A step changes rows of the memory alone in place, so these are kept while it lasts.
        """
        before, self._overwritten = self.me, []
        try:
            yield
        except BaseException:
            for memory, rows, write in reversed(self._overwritten):
                memory.write(rows, write)
            self.me = before
            raise
        finally:
            self._overwritten = None
