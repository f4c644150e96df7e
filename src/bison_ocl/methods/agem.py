"""Averaged gradient episodic memory: a step that does not raise the loss on the memory.

Chaudhry et al. 2019, "Efficient Lifelong Learning with A-GEM", Eq. 10 and 11.
The variant of the field's comparisons: one reservoir over all tasks instead of a ring buffer for
each, so the reference batch may hold images of the current task. Each step after the first task
draws a new one; its gradient only projects the stream's and is never applied itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.errors import UserError
from bison_ocl.look import PURPLE, Look
from bison_ocl.methods.method import Method, Update
from bison_ocl.nets.net import Params
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class AGEM(Method):
    """Projects the stream gradient where it opposes the memory's; reservoir, linear head."""

    title = "A-GEM"
    kind = "T"
    look = Look(PURPLE, ">")
    boundaries = True

    def __post_init__(self) -> None:
        if self.joint:
            raise UserError("joint=true: two gradients need two passes; use joint=false")

    def retrieve(self, me: State, new: Batch) -> Batch | None:
        return super().retrieve(me, new) if me.later else None

    def update(self, me: State, new: Batch) -> Update:
        """The stream gradient g, without its part against the memory's."""
        loss, g = me.grad(self.stream_loss, *self.view(me, new))
        old = self.retrieve(me, new)
        if old is None:
            return Update(loss, g)
        _, reference = me.grad(self.stream_loss, *self.view(me, old, name="replay view"))
        return Update(loss, projected(g, reference))


def projected(g: Params, reference: Params) -> Params:
    """g − (gᵀr / rᵀr) r if gᵀr < 0, else g, over all parameters as one vector."""
    along = tree.dot(g, reference)
    against = along / tree.dot(reference, reference)
    against = torch.where(along < 0, against, torch.zeros_like(against))
    return tree.add(g, tree.map_leaves(lambda leaf: -against * leaf, reference))
