"""Scoring: what a method predicts after a step, for one run, or for many by vmap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bison_ocl.batch import Batch, one_hot, to_float
from bison_ocl.inference.features import in_chunks
from bison_ocl.inference.rule import Rule, Summary
from bison_ocl.methods.method import Method
from bison_ocl.state import State

Each = Callable[[Callable[..., Any]], Callable[..., Any]]
"""A function of one run as a function of one run or of a stack."""
Turn = Callable[[Any, Tensor], Any]
"""One of several repeated steps: maps a tree and the number of the turn to the next tree."""
Repeat = Callable[[Turn, Any, Tensor, int], Any]


def alone(f: Callable[..., Any]) -> Callable[..., Any]:
    """`each` for one run: the function itself."""
    return f


def in_turn(f: Turn, value: Any, zero: Tensor, times: int) -> Any:
    """`repeat` by a loop: f(...f(f(value, 0), 1)..., times − 1)."""
    for turn in range(times):
        value = f(value, zero + turn)
    return value


@dataclass(frozen=True)
class Scoring:
    """Summarises a state by one method and scores images; `Engine` adds the steps."""

    method: Method
    each: Each = alone
    """`alone` or `tree.vectorised`, the only code aware of seeds"""
    repeat: Repeat = in_turn
    """how steps at test time are repeated: by a loop, or by replaying a graph"""

    @torch.no_grad()
    def summarise(self, me: State) -> Summary:
        """The method's summary of the current state, for predicting."""
        summary = self.each(self.method.summarise)(me)

        def fit(summary: Summary, turn: Tensor) -> Summary:
            return self.each(self.method.fit)(me, summary, turn)

        return self.repeat(fit, summary, torch.zeros_like(me.step), self.method.fits(me))

    @torch.no_grad()
    def scores(self, me: State, summary: Summary, x: Tensor) -> Tensor:
        """Scores by the method's own rule. x: [n, C, H, W] or, stacked, [S, n, C, H, W]"""
        dtype = me.net.dtype

        def predict(me: State, summary: Summary, x: Tensor) -> Tensor:
            return self.method.predict(me, summary, to_float(x, dtype))

        return self._by_chunks(predict, me, summary, x)

    @torch.no_grad()
    def summarise_by(self, rule: Rule, me: State, summary: Summary) -> tuple[Summary, Summary]:
        """The method's summary and that of another inference rule, on the same network."""

        def of_rule(me: State, summary: Summary) -> Summary:
            return rule.summarise(self.method.network(me, summary), me.memory, me.classes)

        return summary, self.each(of_rule)(me, summary)

    @torch.no_grad()
    def scores_by(self, rule: Rule, me: State, both: tuple[Summary, Summary], x: Tensor) -> Tensor:
        """Scores by another inference rule, from both summaries."""
        dtype = me.net.dtype

        def predict(me: State, both: tuple[Summary, Summary], x: Tensor) -> Tensor:
            return rule.scores(self.method.network(me, both[0]), both[1], to_float(x, dtype))

        return self._by_chunks(predict, me, both, x)

    def _by_chunks(
        self, f: Callable[..., Tensor], me: State, summary: Summary, x: Tensor
    ) -> Tensor:
        chunks = in_chunks(x)
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
