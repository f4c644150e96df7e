"""Memories whose rows have numbers, by which they can be found and removed."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from bison_ocl.memory.memory import ARRIVED, Memory


def numbered(memory: Memory) -> Memory:
    """The memory with a number for each row that enters; earlier rows have −1."""
    fields = memory.fields | {ARRIVED: torch.full_like(memory.y, -1)}
    return replace(memory, fields=fields, uncounted=torch.zeros_like(memory.seen))


def rows_in_use(memory: Memory) -> list[tuple[int, int]]:
    """Class and number of each row that holds an image, on the host."""
    n = int(memory.used.sum())
    return list(zip(memory.y[:n].tolist(), memory.fields[ARRIVED][:n].tolist(), strict=True))


def reduced(memory: Memory, slots: Tensor) -> Memory:
    """A numbered memory that holds only some rows, in new tensors; for one run, not a stack.

    The rows move to the front, and later items fill the free ones first. A reservoir goes on
    counting where it was: if it began again, recent items would replace nearly all others.
    """
    assert memory.uncounted is not None
    n = len(slots)

    def rows(values: Tensor, blank: int = 0) -> Tensor:
        kept = torch.full_like(values, blank)
        kept[:n] = values[slots.to(values.device)]
        return kept

    return replace(
        memory,
        x=rows(memory.x),
        y=rows(memory.y),
        fields={name: rows(value, -(name == ARRIVED)) for name, value in memory.fields.items()},
        seen=torch.full_like(memory.seen, n),
        filled=n,
        uncounted=memory.offered - n,
    )


def without_rejected(memory: Memory) -> Memory:
    """The memory in new tensors, without the rejected image that its spare row may hold."""

    def blank(values: Tensor) -> Tensor:
        kept = values.clone()
        kept[-1] = 0
        return kept

    fields = {name: blank(value) for name, value in memory.fields.items()}
    return replace(memory, x=blank(memory.x), y=blank(memory.y), fields=fields)
