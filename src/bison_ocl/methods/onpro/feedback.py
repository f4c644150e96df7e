"""Adaptive prototypical feedback: replay mixtures of close classes (Wei et al. 2023)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch, to_float
from bison_ocl.memory.memory import Memory
from bison_ocl.methods.onpro.close_pairs import close_pairs, one_of_each
from bison_ocl.methods.onpro.mixup import Mixed, beta, mixup
from bison_ocl.rng import Key, permutation, uniform

HIGHEST = 0.6
"""largest share of the partner within the batch"""
ALPHA = 0.4
"""of the Beta distribution of shares in pairs of classes"""


@dataclass(frozen=True)
class Feedback:
    """Settings of the mixing."""

    rate: float
    """r: share of a batch that is mixed within itself; the rest are pairs of close classes"""
    probability: float
    """p: of mixing at all"""

    def __call__(self, key: Key, memory: Memory, old: Batch, prototypes: Tensor) -> Mixed:
        """As many mixtures as `old` has items; `old` while no prototype is known. old: floats"""
        kept = int(self.rate * len(old))
        within = self.within(key.named("within"), old[:kept])
        pairs = self.pairs(key.named("pairs"), memory, prototypes, len(old) - kept, old.x.dtype)
        nothing = torch.zeros_like(old.x[:, 0, 0, 0])
        return tree.choose(prototypes.any(), within + pairs, mixup(old, old, nothing))

    def within(self, key: Key, old: Batch) -> Mixed:
        """Mix all items with partners from the batch, or none."""
        share = HIGHEST * uniform(key.named("share"), (len(old),)).to(old.x.dtype)
        share = share * (uniform(key.named("all"), ()) < self.probability)
        return mixup(old, old[permutation(key.named("partner"), len(old))], share)

    def pairs(
        self, key: Key, memory: Memory, prototypes: Tensor, n: int, dtype: torch.dtype
    ) -> Mixed:
        """Mixtures of stored images of close classes; each a plain image with probability 1 − p."""
        sides = []
        for name, wanted in zip("ab", close_pairs(key, prototypes, n), strict=True):
            row = memory.rows(one_of_each(key.named(name), memory, wanted, len(prototypes)))
            sides.append(Batch(to_float(row.x, dtype), row.y))
        share = beta(key.named("share"), n, ALPHA, dtype)
        mixes = uniform(key.named("mixes"), (n,)) < self.probability
        return mixup(sides[0], sides[1], share * mixes)
