"""Adversarial Shapley value replay: select by value to a nearest-neighbour classifier.

Shim et al. 2021, "Online Class-Incremental Continual Learning with Adversarial Shapley Value", §4.
The variant ASER_μ (means of values), with the settings of the authors' later survey: one pass and
one mean loss over both batches; features for values in eval mode, without augmentation. Deliberate
differences: no passes that the authors' code discards; selection starts as soon as the memory is
full; random rows fill up short candidate draws; and evaluation draws leave at least a batch of rows
to exchange, so that no small memory freezes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from bison_ocl.batch import Batch, to_float
from bison_ocl.bounds import Presets
from bison_ocl.look import OLIVE, Look
from bison_ocl.memory.memory import Write
from bison_ocl.methods.aser.class_balanced import Draw, at_random, class_balanced
from bison_ocl.methods.aser.shapley import Points, exchange, knn_shapley, mean_value, most_valuable
from bison_ocl.methods.method import Method
from bison_ocl.rng import uniform
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class ASER(Method):
    """Retrieval and update by KNN Shapley values once the memory is full; linear head."""

    title = "ASER"
    kind = "T"
    look = Look(OLIVE, "h", "--")
    learned = (40,)
    scored = (190, 190)
    presets: ClassVar[Presets] = {
        "split-cifar100": {"samples": 2},
        "split-miniimagenet": {"samples": 3},
        "split-tinyimagenet": {"samples": 2},
    }
    joint: bool = True
    """one forward pass for stream and memory together, so that they share batch statistics"""
    neighbours: int = 3
    """K of the nearest-neighbour classifier"""
    samples: int = 9
    """rows of each class in candidate and evaluation sets"""

    def loss(self, me: State, new: Batch, old: Batch) -> Tensor:
        """One mean of CE over stream and memory together."""
        z, both = torch.cat(self.features(me, new, old)), torch.cat([new.y, old.y])
        return self.ce(me, z, both, self.head)

    def retrieve(self, me: State, new: Batch) -> Batch | None:
        """Rows of high value to their classes (cooperative), low to the stream (adversarial)."""
        memory, n = me.memory, self.buffer_batch
        if not memory.full:
            return super().retrieve(me, new)
        chosen = self.balanced(me, new, "candidates", memory.used)
        rest = memory.used & ~chosen.mask(memory.capacity)
        others = self.balanced(me, new, "cooperative", rest)
        candidates, cooperative, adversarial = points(me, new, chosen, others)
        values = mean_value(cooperative, candidates, self.neighbours)
        values = values - mean_value(adversarial, candidates, self.neighbours)
        best = most_valuable(me.key("retrieve"), chosen, values, memory.capacity, n)
        return memory.rows(memory.occupied(best))

    def settled_at(self, me: State) -> int:
        return me.memory.capacity

    def store(self, me: State, new: Batch) -> Write | None:
        """Stream images replace rows of lower value to a sample of all classes."""
        memory, classes = me.memory, me.live.sum()
        if not memory.full:
            return super().store(me, new)
        sample = self.balanced(me, new, "evaluation", memory.used)
        others, n = memory.used & ~sample.mask(memory.capacity), self.samples
        held = at_random(me.key("exchange"), others, n * me.classes, n * classes)
        evaluation, rows, items = points(me, new, sample, held)
        evaluation = evaluation + replace(items, valid=minority(me, new.y, 1 / classes))
        values = knn_shapley(evaluation, rows + items, self.neighbours).sum(0)
        slots = memory.free_first(exchange(held, values, memory.capacity))
        return Write(slots, memory.seen + len(new))

    def balanced(self, me: State, new: Batch, name: str, allowed: Tensor) -> Draw:
        """Up to `samples` allowed rows of each class, and not all rows but a batch together."""
        y, room = me.memory.y[: me.memory.capacity], max(me.memory.capacity - len(new), 0)
        most = (room // me.live.sum()).clamp(min=1)
        return class_balanced(me.key(name), y, allowed, me.classes, self.samples, most)


def points(me: State, new: Batch, *draws: Draw) -> list[Points]:
    """Features, labels and validity of each draw, then of the stream batch, from one pass."""
    parts = [*(me.memory.rows(draw.slots) for draw in draws), new]
    valid = [*(draw.valid for draw in draws), torch.ones_like(new.y, dtype=torch.bool)]
    images = to_float(torch.cat([part.x for part in parts]), me.net.dtype)
    features = torch.split(me.net.features(images, "eval"), [len(part) for part in parts])
    return [Points(z, part.y, ok) for z, part, ok in zip(features, parts, valid, strict=True)]


def minority(me: State, y: Tensor, share: Tensor) -> Tensor:
    """Which labels have less of the memory than r ~ U(0, share), as a mask [B]."""
    same = (y[:, None] == me.memory.y[: me.memory.capacity]) & me.memory.used
    held = same.to(torch.float32).mean(1)
    return held < uniform(me.key("threshold"), ()) * share
