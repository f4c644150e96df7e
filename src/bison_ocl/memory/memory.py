"""A bounded store of past images: bytes, labels and declared extra fields, row by row."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.errors import UserError
from bison_ocl.rng import Key, uniform

ARRIVED = "arrived"
"""the field of a row's number in the order of arrival, if rows may be removed (removal.py)"""
MOST = 10**8
"""images of a memory; keeps per-row counters below a gigabyte"""


@dataclass(frozen=True)
class Write:
    """A write: one slot per item of the stream batch; the spare slot rejects an item."""

    slots: Tensor
    seen: Tensor
    """items offered to the memory so far, including these"""
    fields: dict[str, Tensor] = field(default_factory=dict)

    def only_if(self, condition: Tensor, memory: Memory) -> Write:
        """This write if the condition holds, else a rejected one."""
        slots = torch.where(condition[..., None], self.slots, memory.capacity)
        return replace(self, slots=slots, seen=torch.where(condition, self.seen, memory.seen))


@dataclass(frozen=True)
class Memory:
    """`capacity` rows and a spare one, the last, that absorbs rejected writes and is never read."""

    x: Tensor
    """uint8 [capacity + 1, C, H, W]"""
    y: Tensor
    """int64 [capacity + 1]"""
    seen: Tensor
    """int64 []: items offered so far, or rows in use if a policy rejects before it is full"""
    fields: dict[str, Tensor]
    """declared extras, [capacity + 1, ...] each"""
    filled: int = 0
    """upper bound of the rows in use, on the host; shapes depend on it"""
    uncounted: Tensor | None = None
    """int64 []: items offered that `seen` no longer counts, because rows were removed"""

    @property
    def capacity(self) -> int:
        return self.y.shape[-1] - 1

    @property
    def full(self) -> bool:
        return 0 < self.capacity == self.filled

    @property
    def used(self) -> Tensor:
        """Which of the capacity rows hold an image, [capacity]."""
        rows = torch.arange(self.capacity, device=self.y.device)
        return rows < self.seen

    @property
    def offered(self) -> Tensor:
        """Items offered so far, for policies that count them in `seen`."""
        return self.seen if self.uncounted is None else self.seen + self.uncounted

    def sample(self, key: Key, n: int) -> Batch | None:
        """n rows, uniformly without replacement; all if fewer are filled; None if empty."""
        if self.filled == 0:
            return None
        return self.rows(self.draw(key, min(n, self.filled)))

    def draw(self, key: Key, n: int) -> Tensor:
        """n distinct slots in use."""
        scores = uniform(key, (self.capacity,)).masked_fill(~self.used, -1.0)
        return self.occupied(scores.topk(n).indices)

    def occupied(self, slots: Tensor) -> Tensor:
        """The slots, with the first one in place of those without an image.

        After a refused step fewer rows are in use than `filled` says.
        """
        return torch.where(slots < self.seen, slots, slots[0])

    def free_first(self, slots: Tensor) -> Tensor:
        """The slots of a batch, but the free rows for its first items, if there are any."""
        turn = self.seen + torch.arange(len(slots), device=slots.device)
        return torch.where(turn < self.capacity, turn, slots)

    def rows(self, slots: Tensor) -> Batch:
        return Batch(self.x[slots], self.y[slots])

    def write(self, new: Batch, write: Write) -> Memory:
        """Write rows in place; only this and captured graphs change shared tensors.

        Stacked runs have slots [S, B], and one write serves all of them.
        """
        where: tuple[Tensor, ...] = (write.slots,)
        if write.slots.ndim == 2:
            runs = torch.arange(write.slots.shape[0], device=write.slots.device)
            where = (runs[:, None], write.slots)
        self.x[where] = new.x
        self.y[where] = new.y
        for name, value in write.fields.items():
            self.fields[name][where] = value
        return replace(self.grown(write.slots.shape[-1]), seen=write.seen)

    def overwritten(self, write: Write) -> tuple[Batch, Write]:
        """Copies of the rows that a write will replace, to undo it."""
        fields = {name: self.fields[name][write.slots] for name in write.fields}
        return self.rows(write.slots), Write(write.slots, self.seen, fields)

    def grown(self, items: int) -> Memory:
        """The memory with the host's count after more items."""
        return replace(self, filled=min(self.capacity, self.filled + items))

    def arrivals(self, first: Tensor, items: int) -> dict[str, Tensor]:
        """The field of numbers for a batch of items, if rows have numbers."""
        if ARRIVED not in self.fields:
            return {}
        return {ARRIVED: first + torch.arange(items, device=self.y.device)}

    def in_use(self) -> Memory:
        """The filled rows, as kept in files; for one run, not a stack."""
        fields = {name: value[: self.filled] for name, value in self.fields.items()}
        return replace(self, x=self.x[: self.filled], y=self.y[: self.filled], fields=fields)

    def without_rows(self) -> Memory:
        """A memory of capacity 0 that shares nothing with this one."""
        x, y = self.x[-1:].clone(), self.y[-1:].clone()
        fields = {name: value[-1:].clone() for name, value in self.fields.items()}
        return replace(self, x=x, y=y, fields=fields, seen=torch.zeros_like(self.seen), filled=0)


def empty(
    capacity: int, shape: tuple[int, ...], fields: dict[str, Tensor], device: torch.device
) -> Memory:
    """An empty memory. `fields`: one example row of each extra field"""
    rows = capacity + 1
    try:
        if capacity > MOST:
            raise RuntimeError(f"more than {MOST}")
        x = torch.zeros((rows, *shape), dtype=torch.uint8, device=device)
    except (RuntimeError, TypeError) as error:  # no room, or a number beyond 64 bits
        message = f"no room for a memory of {capacity} images: choose a smaller one"
        raise UserError(message) from error
    return Memory(
        x=x,
        y=torch.zeros(rows, dtype=torch.int64, device=device),
        seen=torch.zeros((), dtype=torch.int64, device=device),
        fields={name: row.expand(rows, *row.shape).clone() for name, row in fields.items()},
    )
