"""Snapshot of a learner, which answers predictions: network, summary of the memory, labels.

Learning continues meanwhile: a snapshot shares neither memory rows nor a CUDA graph's buffers.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.engine.step import Engine
from bison_ocl.inference.rule import Rule, Summary
from bison_ocl.learner.labels.numbers import Labels
from bison_ocl.state import State


@dataclass(frozen=True)
class Snapshot:
    """A learner as it was after some step."""

    engine: Engine
    rule: Rule | None
    me: State
    """with a memory of no rows"""
    summary: Summary
    labels: tuple[Hashable, ...]
    numbers: tuple[int, ...]
    """of each label: its class number, a column of the method's scores"""
    step: int
    temperature: float = 1.0
    """what scores are divided by to be logits of probabilities"""

    def scores(self, x: Tensor) -> Tensor:
        """[B, labels] on the CPU, for bytes x [B, 3, H, W]."""
        if len(x) == 0:
            return torch.zeros(0, len(self.labels))
        x = x.to(self.me.seed.device)
        if self.rule is None:
            found = self.engine.scores(self.me, self.summary, x)
        else:
            found = self.engine.scores_by(self.rule, self.me, self.summary, x)
        return self.by_label(found.cpu())

    def by_label(self, scores: Tensor) -> Tensor:
        """The columns of the labels, of scores [B, C]; a forgotten label may leave gaps."""
        return scores[:, list(self.numbers)]

    def probabilities(self, scores: Tensor) -> Tensor:
        """[B, labels], of scores by label."""
        return (scores / self.temperature).softmax(1)


def take_snapshot(
    engine: Engine, rule: Rule | None, me: State, labels: Labels, step: int
) -> Snapshot:
    """The snapshot of a state; no step may run meanwhile."""
    me = me.averaged()
    summary = engine.summarise(me)
    if rule is not None:
        summary = engine.summarise_by(rule, me, summary)
    me = replace(me, memory=me.memory.without_rows())
    if me.seed.is_cuda:  # where a graph writes over its buffers
        me, summary = tree.copied((me, summary))
    return Snapshot(engine, rule, me, summary, tuple(labels.all), tuple(labels.numbers), step)
