"""Maximally interfered retrieval: replay what a step on the stream alone would hurt most.

Aljundi et al. 2019, "Online Continual Learning with Maximal Interfered Retrieval", Alg. 1.
The variant ER-MIR as the field's comparisons run it: candidates of every task, loss before and
after the virtual step as the criterion, two passes with a sum of two mean losses. Candidates are
scored without augmentation in train mode; by default this also updates the network's running
statistics, a side effect of the code behind the published numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch, to_float
from bison_ocl.errors import UserError
from bison_ocl.look import SKY, Look
from bison_ocl.memory.memory import Memory
from bison_ocl.methods.method import Method, Update
from bison_ocl.nets.net import Net
from bison_ocl.nets.norm import Mode
from bison_ocl.rng import Key, uniform
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class MIR(Method):
    """Replays the candidates whose loss rises most; reservoir update, linear head."""

    title = "MIR"
    kind = "T"
    look = Look(SKY, "<")
    scored = (50, 50)
    subsample: int = 50
    """candidates drawn from the memory, of which the most interfered are replayed"""
    mir_bn_side_effect: bool = True
    """scoring candidates updates the running statistics; false: it does not"""
    exclude_current_task: bool = False
    """no candidates of the current task's classes, and no replay in the first task"""

    def __post_init__(self) -> None:
        if self.joint:
            raise UserError("joint=true: the stream's pass decides what to replay; use joint=false")

    def settled_at(self, me: State) -> int:
        return min(self.subsample, me.memory.capacity)

    def update(self, me: State, new: Batch) -> Update:
        """Stream gradient g, a virtual step along it, retrieval by harm, replay gradient h."""
        stream, g = me.grad(self.stream_loss, *self.view(me, new))
        if me.memory.filled == 0 or (self.exclude_current_task and not me.later):
            return Update(stream, g)
        pool = self.pool(me)
        ahead = me.net.step(g, self.lr)
        mode: Mode = "train" if self.mir_bn_side_effect else "batch"
        harm = self.losses(me, ahead, pool, "batch") - self.losses(me, me.net, pool, mode)
        old = pool[largest(harm, self.buffer_batch, self.avoided(me)[pool.y])]
        replay, h = me.grad(self.stream_loss, *self.view(me, old, name="replay view"))
        return Update(stream + replay, tree.add(g, h))

    def pool(self, me: State) -> Batch:
        """The candidates, as the network sees them."""
        n = min(self.subsample, me.memory.filled)
        drawn = me.memory.rows(candidates(me.key("retrieve"), me.memory, n, self.avoided(me)))
        return Batch(to_float(drawn.x, me.net.dtype), drawn.y)

    def avoided(self, me: State) -> Tensor:
        """Mask of the classes that are not replayed while there are others."""
        return me.new & self.exclude_current_task

    def losses(self, me: State, net: Net, pool: Batch, mode: Mode) -> Tensor:
        """The cross-entropy of each candidate."""
        logits = net(pool.x, self.head, mode)
        logits = logits.masked_fill(~self.softmax_classes(me), -float("inf"))
        return F.cross_entropy(logits, pool.y, reduction="none")


def candidates(key: Key, memory: Memory, n: int, avoided: Tensor) -> Tensor:
    """n distinct slots in use, at random; those of avoided classes only if no others are left.

    avoided: bool [C]
    """
    labels = memory.y[: memory.capacity].clamp(0, len(avoided) - 1)  # empty rows hold any number
    late = avoided[labels].to(torch.float32) + 2 * (~memory.used)
    return memory.occupied((uniform(key, (memory.capacity,)) - late).topk(n).indices)


def largest(harm: Tensor, n: int, avoided: Tensor) -> Tensor:
    """The n most harmed candidates, or all; avoided ones last, in the order they were drawn."""
    harm = harm.masked_fill(avoided, -float("inf"))
    return harm.argsort(descending=True, stable=True)[:n]
