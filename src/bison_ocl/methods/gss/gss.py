"""Gradient-based sample selection: random replay from a memory of diverse gradients.

Aljundi et al. 2019, "Gradient based sample selection for online continual learning", Alg. 2.
GSS-Greedy as the field's comparisons run it: gradients over all parameters in eval mode, of images
without augmentation, after the optimiser's step; retrieval is random. The batch's own gradient is
the mean of its items', which in eval mode it equals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from bison_ocl.batch import Batch, to_float
from bison_ocl.look import ORANGE, Look
from bison_ocl.memory.memory import Write
from bison_ocl.methods.gss.diverse_gradients import append, exchange
from bison_ocl.methods.gss.gradients import (
    Gradients,
    batch_gradients,
    each_gradient,
    products,
    similarity,
    with_mean,
)
from bison_ocl.methods.method import Method
from bison_ocl.nets.net import Net
from bison_ocl.state import State

FIRST_SCORE = 0.1
"""the score of items that find an empty memory"""


@dataclass(frozen=True, kw_only=True)
class GSS(Method):
    """Replaces rows by items with dissimilar gradients; random retrieval, linear head."""

    title = "GSS"
    kind = "T"
    look = Look(ORANGE, "v")
    learned = (20, 20, *[10] * 10, *[1] * 10)
    ignores = ("exact_reservoir",)
    gss_batches: int = 10
    """random batches of the memory whose gradients an item is compared with"""
    gss_batch_size: int = 10
    """images in each of them"""

    def fields(self, net: Net, classes: int) -> dict[str, Tensor]:
        return {"score": torch.zeros_like(net.weight(self.head)[0, 0])}

    def settled_at(self, me: State) -> int:
        return me.memory.capacity

    def store(self, me: State, new: Batch) -> Write:
        """Append while there is room; then exchange, if the batch opposes all of the memory."""
        if me.memory.filled == 0:
            return append(me.memory, torch.full_like(new.y, FIRST_SCORE, dtype=me.net.dtype))
        items = Batch(to_float(new.x, me.net.dtype), new.y)
        g = each_gradient(me.net, partial(self.eval_loss, me), items)
        inner = products(g, self.reference(me))
        scores = similarity(inner, len(new))
        if me.memory.filled < me.memory.capacity:
            return append(me.memory, scores)
        useful = similarity(with_mean(inner, len(new)), 1)[0] < 0
        return exchange(me.key("store"), me.memory, scores, useful)

    def reference(self, me: State) -> Gradients:
        """The gradients of disjoint random batches of the memory."""
        size = min(self.gss_batch_size, me.memory.filled)
        count = min(self.gss_batches, me.memory.filled // size)
        drawn = me.memory.rows(me.memory.draw(me.key("reference"), count * size))
        items = Batch(to_float(drawn.x, me.net.dtype), drawn.y)
        return batch_gradients(me.net, partial(self.eval_loss, me), items, size)

    def eval_loss(self, me: State, net: Net, batch: Batch) -> Tensor:
        """CE with running statistics, which no pass moves."""
        return self.ce(replace(me, net=net), net.features(batch.x, "eval"), batch.y, self.head)
