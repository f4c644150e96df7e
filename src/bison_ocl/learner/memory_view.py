"""The images in a learner's memory, with labels, ids and ages, in copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from bison_ocl.learner.arrival import Arrival
from bison_ocl.learner.labels.names import display_names, encode
from bison_ocl.learner.labels.numbers import Labels
from bison_ocl.learner.training import Training
from bison_ocl.memory.removal import rows_in_use

if TYPE_CHECKING:
    from PIL import Image

SHOWN = 8
"""images of each label on a contact sheet"""


@dataclass(frozen=True)
class NotReplayed:
    """Images that a learner keeps outside the memory that steps replay."""

    labels: list[Hashable] = field(default_factory=list)
    ids: list[Hashable | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class MemoryView:
    """One entry per image in the memory, in no particular order."""

    images: NDArray[np.uint8]
    """uint8 [N, H, W, 3]"""
    labels: list[Hashable]
    ids: list[Hashable | None]
    """as given to `observe`; None for images without one"""
    age: list[int | None]
    """steps since an image was stored; None in files that do not say"""
    capacity: int
    held_back: NotReplayed = field(default_factory=NotReplayed)
    """further images, which calibration keeps from replay; they count towards the capacity"""
    waiting: NotReplayed = field(default_factory=NotReplayed)
    """further images, which wait for their batch"""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def all_ids(self) -> list[Hashable | None]:
        """The ids of all images that the learner keeps: stored, held back and waiting."""
        return [*self.ids, *self.held_back.ids, *self.waiting.ids]

    @property
    def bytes(self) -> int:
        """Bytes of all images, those held back or waiting included."""
        return len(self.all_ids) * prod(self.images.shape[1:])

    @property
    def counts(self) -> dict[Hashable, int]:
        """Images of each label."""
        return dict(Counter(self.labels))

    def contact_sheet(self) -> Image.Image:
        """The labels, each with its newest images, eight at most."""
        from bison_ocl.data.sheet import drawn  # which imports PIL

        ages = [inf if age is None else age for age in self.age]
        newest = sorted(range(len(self)), key=ages.__getitem__)
        by_label: dict[Hashable, list[NDArray[np.uint8]]] = {label: [] for label in self.counts}
        for row in newest:
            by_label[self.labels[row]].append(self.images[row].transpose(2, 0, 1))
        return drawn(display_names(list(by_label)), [x[:SHOWN] for x in by_label.values()])

    def as_json(self) -> dict[str, Any]:
        """Everything but the pixels, as plain values."""
        stored = zip(self.labels, self.ids, self.age, strict=True)
        rows = [json_row(label, name, age, "memory") for label, name, age in stored]
        for place, kept in (("held back", self.held_back), ("waiting", self.waiting)):
            named = zip(kept.labels, kept.ids, strict=True)
            rows += [json_row(label, name, None, place) for label, name in named]
        return {
            "images": len(self),
            "held_back": len(self.held_back),
            "waiting": len(self.waiting),
            "capacity": self.capacity,
            "bytes": self.bytes,
            "shape": list(self.images.shape[1:]),
            "labels": [[encode(label), n] for label, n in self.counts.items()],
            "rows": rows,
        }


def json_row(label: Hashable, name: Hashable, age: int | None, place: str) -> dict[str, Any]:
    return {"label": encode(label), "id": encode(name), "age": age, "place": place}


def view(training: Training) -> MemoryView:
    """The memory of a learner as it is now."""
    arguments, me = training.arguments, training.me
    if me is None:
        return MemoryView(np.zeros((0, 0, 0, 3), np.uint8), [], [], [], arguments.memory)
    clock = Clock(training.steps, arguments.method.stream_batch)
    rows = rows_in_use(me.memory)
    stored = view_of_rows(me.memory.x, rows, training.labels, training.ids, clock)
    held_back, waiting = not_replayed(training.held_back.kept), not_replayed(training.waiting)
    return replace(stored, capacity=arguments.memory, held_back=held_back, waiting=waiting)


def not_replayed(arrivals: Sequence[Arrival]) -> NotReplayed:
    """Labels and ids of images outside the memory."""
    return NotReplayed([one.label for one in arrivals], [one.id for one in arrivals])


def stored_by_label(training: Training) -> dict[Hashable, int]:
    """Stored images of each label, in the order of the labels; no image is copied."""
    if training.me is None:
        return {}
    counts = Counter(number for number, _ in rows_in_use(training.me.memory))
    labels = zip(training.labels.all, training.labels.numbers, strict=True)
    return {label: counts[number] for label, number in labels if counts[number]}


@dataclass(frozen=True)
class Clock:
    """Steps so far, and stream images per step: they date an arrival by its number."""

    steps: int
    stream_batch: int

    def age(self, number: int) -> int | None:
        return None if number < 0 else self.steps - 1 - number // self.stream_batch


def view_of_rows(
    x: Tensor,
    rows: Sequence[tuple[int, int]],
    labels: Labels,
    ids: Mapping[int, Hashable],
    clock: Clock,
) -> MemoryView:
    """A view of rows given by class and number of arrival. x: bytes [N, 3, H, W], N ≥ rows"""
    names = dict(zip(labels.numbers, labels.all, strict=True))
    images = x[: len(rows)].permute(0, 2, 3, 1).cpu().numpy().copy()
    return MemoryView(
        images,
        [names[y] for y, _ in rows],
        [ids.get(number) for _, number in rows],
        [clock.age(number) for _, number in rows],
        len(rows),
    )
