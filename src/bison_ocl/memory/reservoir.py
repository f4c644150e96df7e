"""Reservoir sampling of the stream into the memory (Vitter 1985), with the field's batch rule."""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl.memory.memory import Memory, Write
from bison_ocl.rng import Key, integers


def reservoir(key: Key, memory: Memory, items: int, exact: bool = False) -> Write:
    """Fill the free rows first; then item i replaces row j ~ U{0..n−1}, or is dropped if j ≥ M.

    The batch rule uses one n for the whole batch, the count after filling the free rows, as in the
    field's common code; `exact` counts item by item, like Vitter.
    """
    order = torch.arange(items, device=memory.y.device)
    turn = memory.seen + order
    free = turn < memory.capacity
    count = memory.offered + free.sum()
    drawn = integers(key, memory.offered + order + 1 if exact else count.clamp(min=1), (items,))
    slots = torch.where(free, turn, drawn.clamp(max=memory.capacity))
    return Write(later_wins(slots, memory.capacity), memory.seen + items)


def later_wins(slots: Tensor, spare: int) -> Tensor:
    """Reject an item if a later one of the batch takes its slot."""
    same = slots[:, None] == slots
    return slots.masked_fill(same.triu(diagonal=1).any(1), spare)
