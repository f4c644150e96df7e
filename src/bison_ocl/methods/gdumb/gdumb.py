"""GDumb: keep a class-balanced memory, and train a new network on it before predicting.

Prabhu, Torr & Dokania 2020, "GDumb: A Simple Approach that Questions Our Progress in CL".
The variant of the field's common code with the BISON paper's values: 30 epochs, gradient norm
clipped at 10, constant learning rate, doubled views, no CutMix. It trains before each evaluation,
so the accuracy after task k is that of a network trained on the current memory only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.bounds import Positive
from bison_ocl.look import OLIVE, Look
from bison_ocl.memory.memory import Write
from bison_ocl.methods.gdumb.greedy_balance import greedy_balance
from bison_ocl.methods.method import Method, Update
from bison_ocl.nets.net import Net, Params
from bison_ocl.rng import uniform
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class GDumb(Method):
    """Greedy sampler, dumb learner."""

    title = "GDumb"
    kind = "T"
    look = Look(OLIVE, "P")
    learned = ()
    learned_at_test = 60
    ignores = ("joint", "exact_reservoir", "average")

    lr: Positive = 0.01
    """learning rate of SGD; 0.1, as of other methods, is farther from the paper on CIFAR-10 0.2k"""
    epochs: int = 30
    """passes over the memory before each evaluation"""
    clip: Positive = 10.0
    """largest norm of a gradient"""

    def update(self, me: State, new: Batch) -> Update:
        """Nothing is learned while images arrive."""
        return Update.none(me)

    def store(self, me: State, new: Batch) -> Write:
        return greedy_balance(me.key("store"), me.memory, new.y, me.classes)

    def summarise(self, me: State) -> Net:
        """A network with new random parameters."""
        return me.net.design.born(me.key("fresh network"), me.classes, me.net.dtype)

    def fits(self, me: State) -> int:
        return self.epochs * (me.memory.filled // self.buffer_batch)

    def fit(self, me: State, summary: Net, turn: Tensor) -> Net:
        """One step on the next batch of an epoch; an incomplete batch is skipped."""
        size, batches = self.buffer_batch, me.memory.filled // self.buffer_batch
        chance = uniform(phase(me, turn // batches).key("epoch"), (me.memory.capacity,))
        order = chance.masked_fill(~me.memory.used, 2.0).argsort()
        place = turn % batches * size + torch.arange(size, device=turn.device)
        rows = me.memory.rows(order[place.clamp(max=me.memory.used.sum() - 1)])
        now = replace(phase(me, turn), net=summary.copy())
        _, grads = now.grad(self.stream_loss, *self.view(now, rows))
        ahead = now.net.step(clipped(grads, self.clip), self.lr)
        return tree.choose(place[-1] < me.memory.seen, ahead, summary)

    def network(self, me: State, summary: Net) -> Net:
        return summary


def phase(me: State, turn: Tensor) -> State:
    """The state with a separate counter, so that draws differ from those of other steps."""
    return replace(me, step=(me.step << 32) + turn)


def clipped(grads: Params, most: float) -> Params:
    """Gradients scaled down to a global norm."""
    norm = torch.stack([leaf.square().sum() for leaf in tree.leaves(grads)]).sum().sqrt()
    scale = (most / (norm + 1e-6)).clamp(max=1)
    return tree.map_leaves(lambda leaf: leaf * scale, grads)
