"""Greedy class balance: a memory update that gives every class the same share.

(Prabhu, Torr & Dokania 2020, GDumb, Alg. 1.)
"""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl.batch import one_hot
from bison_ocl.memory.memory import Memory, Write
from bison_ocl.memory.reservoir import later_wins
from bison_ocl.rng import Key, uniform


def greedy_balance(key: Key, memory: Memory, y: Tensor, classes: int) -> Write:
    """Item by item: take it if its class is new or below its share k = ⌊M / classes held⌋.

    A full memory first gives up a random row of its largest class (the earliest met, if several).
    """
    rows, chance = memory.capacity, uniform(key, (len(y), memory.capacity))
    held = torch.where(memory.used, memory.y[:rows], -1)
    counts, used = one_hot(held, classes).sum(0), memory.seen
    slots = []
    for i, label in enumerate(one_hot(y, classes)):
        of_class = (counts * label).sum()
        share = rows // (counts > 0).sum().clamp(min=1)
        taken = (of_class == 0) | (of_class < share)
        full = used >= rows
        largest = counts.argmax()
        victim = chance[i].masked_fill(held != largest, -1.0).argmax()
        slot = torch.where(taken, torch.where(full, victim, used), rows)
        held = torch.where(torch.arange(rows, device=y.device) == slot, y[i], held)
        given_up = torch.arange(classes, device=y.device) == largest
        counts = counts + (taken & label).long() - (taken & full & given_up).long()
        used = used + (taken & ~full)
        slots.append(slot)
    return Write(later_wins(torch.stack(slots), rows), used)
