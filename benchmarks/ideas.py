"""Further ideas for BISON-ALD, each a method from outside the package (docs/BEYOND.md).

    python -m benchmarks.readouts --method benchmarks/ideas.py:Mixed split-cifar10:500:100

appends a pilot run to readouts.jsonl, next to those of BISON-ALD itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.memory.memory import Write
from bison_ocl.methods.bison_ald import BisonALD
from bison_ocl.methods.gdumb.greedy_balance import greedy_balance
from bison_ocl.methods.method import Update
from bison_ocl.rng import uniforms
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class Balanced(BisonALD):
    """BISON-ALD with a class-balanced memory (Prabhu et al. 2020, GDumb's sampler)."""

    title = "BISON-ALD balanced"
    ignores = (*BisonALD.ignores, "exact_reservoir")

    def store(self, me: State, new: Batch) -> Write:
        return greedy_balance(me.key("store"), me.memory, new.y, me.classes)


@dataclass(frozen=True, kw_only=True)
class Mixed(BisonALD):
    """BISON-ALD whose memory views show a box of another one (Yun et al. 2019, "CutMix").

    The box covers less than half of an image, which keeps its own label.
    """

    title = "BISON-ALD mixed"

    def view(self, me: State, *batches: Batch, name: str = "view") -> list[Batch]:
        stream, *memory = super().view(me, *batches, name=name)
        return [stream, *(self.mixed(me, old) for old in memory)]

    def mixed(self, me: State, old: Batch) -> Batch:
        """[originals; views], with a box of the next view in each."""
        x, views = old.x.chunk(2)
        each = (len(views), 1, 1)
        u = uniforms(me.key("box"), {"area": each, "top": each, "left": each})
        size = (u["area"] / 2).sqrt()
        down, across = (torch.linspace(0, 1, side, device=x.device) for side in x.shape[-2:])
        inside = within(down[:, None], u["top"], size) & within(across, u["left"], size)
        return Batch(torch.cat([x, torch.where(inside[:, None], views.roll(1, 0), views)]), old.y)


def within(place: torch.Tensor, start: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
    """Whether places in [0, 1] lie in an interval of a size, which start in [0, 1) moves."""
    first = start * (1 - size)
    return (place >= first) & (place < first + size)


@dataclass(frozen=True, kw_only=True)
class Repeated(BisonALD):
    """BISON-ALD with a second step per stream batch, on other memory images and views.

    Zhang et al. 2022, "A simple but strong baseline for online continual learning: Repeated
    Augmented Rehearsal". It costs twice the training time.
    """

    title = "BISON-ALD repeated"
    learned: ClassVar[tuple[int, ...]] = (30, 30)

    def update(self, me: State, new: Batch) -> Update:
        first = super().update(me, new)
        old = me.memory.sample(me.key("retrieve again"), self.buffer_batch)
        if old is None:
            return first
        ahead = replace(me, net=me.net.step(first.grads, self.lr)).with_extra(**first.extra)
        loss, grads = ahead.grad(self.loss, *self.view(me, new, old, name="view again"))
        total = tree.add(first.grads, grads)
        return Update(first.loss + loss, total, self.remember(me, old))
