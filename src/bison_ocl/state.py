"""State of a run: network, optimiser, memory, class table, extras, seed and counters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from bison_ocl import rng
from bison_ocl.batch import Batch, present
from bison_ocl.memory.memory import Memory
from bison_ocl.nets.average import unflat
from bison_ocl.nets.net import Net, Params
from bison_ocl.nets.optimiser import Moments

Extras = dict[str, Any]
"""values of a method between steps by name, as trees: a teacher network, prototypes, label sets"""


@dataclass(frozen=True)
class State:
    """One run's state as a tree of tensors; class ids are the run's own."""

    net: Net
    moments: Moments
    memory: Memory
    extra: Extras
    seed: Tensor
    step: Tensor
    task: Tensor
    table: Tensor
    """int64 [C]: the task a class first appeared in, −1 for an unseen one"""
    refused: Tensor
    """int64 []: steps refused because their loss or update was not finite"""
    closed: bool
    """whether the classes were given in advance; then the losses cover all of them"""
    later: bool = False
    """whether a task is finished; on the host, so that code may branch on it"""
    average: Tensor | None = None
    """[P]: the average of the network over the steps, if one is kept (nets/average.py)"""

    def key(self, name: str) -> rng.Key:
        """The key of a draw at this step."""
        return rng.key(self.seed, self.step, name)

    @property
    def classes(self) -> int:
        return self.table.shape[-1]

    @property
    def seen(self) -> Tensor:
        """Mask of the classes seen so far (C_1:t)."""
        return self.table >= 0

    @property
    def new(self) -> Tensor:
        """Mask of the classes of the current task."""
        return self.table == self.task

    @property
    def old(self) -> Tensor:
        """Mask of the classes of earlier tasks."""
        return self.seen & ~self.new

    @property
    def live(self) -> Tensor:
        """Mask of the classes that the losses cover."""
        return torch.ones_like(self.seen) if self.closed else self.seen

    def meet(self, y: Tensor) -> State:
        """Enter the labels of a batch into the table."""
        fresh = present(y, self.classes) & ~self.seen
        return replace(self, table=torch.where(fresh, self.task, self.table))

    def grad(self, loss: Callable[..., Tensor], *batches: Batch) -> tuple[Tensor, Params]:
        """The gradient of loss(me, *batches) with respect to the network's parameters."""
        return self.net.grad(lambda net: loss(replace(self, net=net), *batches))

    def averaged(self) -> State:
        """The state with the averaged network instead of the live one, if one is kept."""
        if self.average is None:
            return self
        return replace(self, net=unflat(self.average, self.net))

    def with_extra(self, **extra: Any) -> State:
        return replace(self, extra=self.extra | extra)
