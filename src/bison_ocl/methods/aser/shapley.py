"""KNN Shapley values: the value of a stored image to a nearest-neighbour classifier.

Jia et al. 2019, "Efficient Task-Specific Data Valuation for Nearest Neighbor Algorithms", Thm. 1.
Values are computed in float64 and compared in float32: equal values are common, and rounding keeps
them equal for any order of summation.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.methods.aser.class_balanced import Draw
from bison_ocl.nets.heads import squared_distances
from bison_ocl.rng import Key, permutation


@dataclass(frozen=True)
class Points:
    """Features z [n, d] and labels y [n]; only those with `valid` [n] count."""

    z: Tensor
    y: Tensor
    valid: Tensor

    def __add__(self, other: Points) -> Points:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Points(*(torch.cat(pair) for pair in pairs))


def knn_shapley(evaluation: Points, candidates: Points, neighbours: int) -> Tensor:
    """Each candidate's share in how well its K nearest vote for an evaluation point. -> [E, N]

    With q_i whether the i-th nearest has the point's label, s_i = s_(i+1) + (q_i − q_(i+1)) / K ·
    min(K, i) / i. Candidates that do not count come last with q = 0, which starts the recursion at
    the last one that does: s_N = q_N / K · min(K, N) / N. Points that do not count give zeros.
    """
    distance = squared_distances(evaluation.z, candidates.z)
    nearest = distance.masked_fill(~candidates.valid, float("inf")).argsort(dim=1, stable=True)
    right = (evaluation.y[:, None] == candidates.y) & candidates.valid & evaluation.valid[:, None]
    q = right.gather(1, nearest).double()
    i = torch.arange(1, q.shape[1] + 1, dtype=q.dtype, device=q.device)
    change = (q - F.pad(q[:, 1:], (0, 1))) / neighbours * i.clamp(max=neighbours) / i
    return torch.zeros_like(q).scatter(1, nearest, change.flip(1).cumsum(1).flip(1))


def mean_value(evaluation: Points, candidates: Points, neighbours: int) -> Tensor:
    """The mean Shapley value over the evaluation points that count; 0 if none does. -> [N]"""
    values = knn_shapley(evaluation, candidates, neighbours).sum(0)
    return values / evaluation.valid.sum().clamp(min=1)


def by_value(values: Tensor) -> Tensor:
    """The places of the values from the largest down; equal ones in their order."""
    return values.float().argsort(descending=True, stable=True)


def most_valuable(key: Key, draw: Draw, values: Tensor, capacity: int, n: int) -> Tensor:
    """The n drawn slots of largest value; random other slots where fewer were drawn. -> [n]

    Slots of equal value come in random order.
    """
    worth = values.new_full((capacity + 1,), -float("inf"))
    worth = worth.scatter(0, draw.slots.masked_fill(~draw.valid, capacity), values)
    shuffled = permutation(key, capacity)
    return shuffled[by_value(worth[shuffled])[:n]]


def exchange(held: Draw, values: Tensor, spare: int) -> Tensor:
    """Slots for new items: those among the best take the rows of held ones that are not.

    values: [held + new]. As many stay as were held; the best item takes the slot of the best row
    that leaves, and so on. Items that do not enter get the spare slot. -> [new]
    """
    rows = len(held.slots)
    valid = F.pad(held.valid, (0, len(values) - rows), value=True)
    order = by_value(values.masked_fill(~valid, -float("inf")))
    place = order.argsort()
    stays = place < held.valid.sum()
    enters, leaves = stays[rows:], (valid & ~stays)[:rows]

    def turns(chosen: Tensor) -> Tensor:
        return chosen[order].cumsum(0)[place]

    entering = turns(F.pad(enters, (rows, 0)))[rows:]
    leaving = turns(F.pad(leaves, (0, len(enters))))[:rows]
    pairs = (entering[:, None] == leaving) & enters[:, None] & leaves
    return torch.where(pairs.any(1), (pairs * held.slots).sum(1), spare)
