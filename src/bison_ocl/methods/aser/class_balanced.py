"""Random rows of a memory, up to a limit per class, in static shapes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bison_ocl.batch import one_hot
from bison_ocl.rng import Key, uniform


@dataclass(frozen=True)
class Draw:
    """Distinct slots of a memory where `valid`; other entries are arbitrary."""

    slots: Tensor
    """int64 [n]"""
    valid: Tensor
    """bool [n]"""

    def mask(self, capacity: int) -> Tensor:
        """The drawn slots as a set, bool [capacity]."""
        where = self.slots.masked_fill(~self.valid, capacity)
        none = torch.zeros(capacity + 1, dtype=torch.bool, device=where.device)
        return none.scatter(0, where, torch.ones_like(self.valid))[:capacity]


def class_balanced(
    key: Key, y: Tensor, allowed: Tensor, classes: int, n: int, most: Tensor
) -> Draw:
    """For each class n places, filled with up to `most` of its allowed rows at random.

    y: [capacity], allowed: bool [capacity], most: int64 [] -> [classes · n]. One sort, by class and
    within a class by chance; room for more classes changes no draw.
    """
    y = y.masked_fill(~allowed, classes)
    order = (y + uniform(key, (len(y),)).double()).argsort()
    counts = one_hot(y, classes).sum(0)
    turn = torch.arange(n, device=y.device)
    place = (counts.cumsum(0) - counts)[:, None] + turn
    valid = turn < torch.minimum(counts, most)[:, None]
    return Draw(order[place.clamp(max=len(y) - 1)].flatten(), valid.flatten())


def at_random(key: Key, allowed: Tensor, n: int, most: Tensor) -> Draw:
    """Up to n places, filled with up to `most` allowed rows at random, of any class."""
    scores = uniform(key, (len(allowed),)).masked_fill(~allowed, -1.0)
    score, slots = scores.topk(min(n, len(allowed)))
    turn = torch.arange(len(slots), device=slots.device)
    return Draw(slots, (score >= 0) & (turn < most))
