"""Pairs of classes that are easily confused, and images of them (Wei et al. 2023)."""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl.batch import one_hot
from bison_ocl.memory.memory import Memory
from bison_ocl.nets.heads import squared_distances
from bison_ocl.rng import Key, rows, uniform

NONE = -1
"""The class of a place for which there is no pair."""


def close_pairs(key: Key, prototypes: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """n pairs of classes, more of those whose prototypes are close. prototypes: [C, w] -> [n] twice

    Each pair gets its share of n, rounded, and random pairs make up for the rounding. Classes whose
    prototype is zero have no part; if there is but one class, all are NONE.
    """
    classes = len(prototypes)
    counts = whole_shares(key, pair_shares(prototypes), n).flatten()
    place = torch.arange(n, device=counts.device)
    pair = (counts.cumsum(0) <= place[:, None]).sum(1)
    none = place >= counts.sum()
    return (pair // classes).masked_fill(none, NONE), (pair % classes).masked_fill(none, NONE)


def pair_shares(prototypes: Tensor) -> Tensor:
    """Softmax of 1 / ‖μ_a − μ_b‖ over the pairs a < b of non-zero rows; zero elsewhere. [C, C]"""
    known = prototypes.abs().sum(1) > 0
    pairs = (known[:, None] & known).triu(diagonal=1)
    squares = squared_distances(prototypes, prototypes)
    closeness = squares.clamp(min=1e-12).rsqrt().masked_fill(~pairs, -float("inf"))
    closeness = closeness - closeness.amax().clamp(min=0)
    weights = closeness.exp()
    return weights / weights.sum().clamp(min=1)


def whole_shares(key: Key, shares: Tensor, n: int) -> Tensor:
    """How often each pair comes: n · share, rounded, then one more or less for random pairs.

    They sum to n unless all shares are zero. Draws are named by row and column, so that more
    classes change none.
    """
    counts = (n * shares).round().long()
    missing = n - counts.sum()
    open_to = torch.where(missing > 0, shares > 0, counts > 0)
    scores = rows(key, *shares.shape).masked_fill(~open_to, -1.0).flatten()
    score, turn = scores.topk(min(n, len(scores)))
    chosen = (torch.arange(len(turn), device=turn.device) < missing.abs()) & (score >= 0)
    repair = torch.zeros_like(counts).flatten().scatter_add(0, turn, chosen * missing.sign())
    return counts + repair.reshape(shares.shape)


def one_of_each(key: Key, memory: Memory, wanted: Tensor, classes: int) -> Tensor:
    """A random row in use of each wanted class, or of a random class if it has none. [n] -> [n]"""
    y = memory.y[: memory.capacity]
    stored = (one_hot(y, classes) & memory.used[:, None]).any(0)
    absent = ~(one_hot(wanted, classes) & stored).any(1)
    others = rows(key.named("class"), len(wanted), classes).masked_fill(~stored, -1.0).argmax(1)
    wanted = torch.where(absent, others, wanted)
    fits = (y == wanted[:, None]) & memory.used
    scores = uniform(key.named("row"), (len(wanted), memory.capacity))
    return scores.masked_fill(~fits, -1.0).argmax(1)
