"""The initial state of a run, as its method requires."""

from __future__ import annotations

import torch

from bison_ocl import rng
from bison_ocl.errors import UserError
from bison_ocl.memory.memory import empty
from bison_ocl.methods.method import Method
from bison_ocl.nets.average import flat
from bison_ocl.nets.net import Backbone, Design
from bison_ocl.state import State


def first_state(
    method: Method,
    seed: int,
    backbone: Backbone,
    classes: int,
    capacity: int,
    shape: tuple[int, ...],
    *,
    closed: bool = True,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> State:
    """Fresh network and empty memory; `closed`: whether the number of classes is final."""
    device = torch.device(device)
    start, zero = torch.tensor(seed, device=device), torch.tensor(0, device=device)
    design = Design(backbone, method.heads(), method.scalars())
    net = design.born(rng.key(start, zero, "init"), classes, dtype)
    fields = method.fields(net, classes)
    return State(
        net=net,
        moments=method.optimiser().start(net),
        memory=empty(capacity if method.replays else 0, shape, fields, device),
        extra=method.extra(net, classes),
        seed=start,
        step=zero,
        task=zero.clone(),
        table=torch.full((classes,), -1, device=device),
        refused=zero.clone(),
        closed=closed,
        average=flat(net) if method.average else None,
    )


def check_memory(method: Method, capacity: int) -> None:
    """Refuse a memory that cannot hold one replay batch."""
    if method.replays and capacity < method.buffer_batch:
        raise UserError(
            f"memory {capacity} is smaller than the replay batch {method.buffer_batch}: "
            f"raise the memory or lower buffer_batch"
        )
