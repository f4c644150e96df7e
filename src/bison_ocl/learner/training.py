"""Learning from a stream: images wait for their batch, steps, tasks, heads that grow."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine.eager import Eager
from bison_ocl.engine.pace import Pace
from bison_ocl.errors import UserError
from bison_ocl.learner.arguments import LARGEST_SIDE, Arguments
from bison_ocl.learner.arrival import Arrival
from bison_ocl.learner.held_back import HeldBack
from bison_ocl.learner.labels.names import Names, with_type
from bison_ocl.learner.labels.numbers import Labels
from bison_ocl.learner.origin import Origin
from bison_ocl.learner.warning import warn
from bison_ocl.memory.removal import reduced, rows_in_use, without_rejected
from bison_ocl.state import State

FIRST_CAPACITY = 8
"""initial rows of the heads if the number of classes is not given; they double as needed"""

LARGE = 224
"""pixels of a side from which on a learner warns of the cost"""


class Unlearnable(UserError):
    """Images that a step refuses."""


class Training:
    """What learning changes: the state, labels, tasks, and the images that wait.

    Attributes are replaced, never changed in place, so that a failed call can be undone.
    """

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments
        self.execution = arguments.execution
        self.engine = arguments.execution.engine(arguments.method)
        self.origin = Origin(arguments)
        self.labels = Labels(limit=arguments.classes)
        self.classes, self.task_gap = arguments.classes, arguments.task_gap
        self.waiting: list[Arrival] = []
        self.held_back = HeldBack(arguments.calibration)
        self.stepper: Eager | None = None
        self.pace: Pace | None = None
        self.loss: Tensor | None = None
        self.steps, self.new_class_at = 0, 0
        """steps taken, and how many of them when a class was new last"""
        self.ids: dict[int, Hashable] = {}
        """the caller's ids by number of arrival: step · stream batch + place in the batch"""
        self.warned = False

    @property
    def me(self) -> State | None:
        """The state; None before the first image."""
        return None if self.stepper is None else self.stepper.me

    @property
    def shape(self) -> tuple[int, ...] | None:
        """[3, H, W] of the images; None before the first."""
        return None if self.me is None else tuple(self.me.memory.x.shape[1:])

    @property
    def knows(self) -> bool:
        """Whether anything can be predicted: a step was taken, and not every label forgotten."""
        return self.steps > 0 and len(self.labels) > 0

    @property
    def room(self) -> int:
        """Images until the batch in the making is complete."""
        return self.arguments.method.stream_batch - len(self.waiting)

    @property
    def filled(self) -> int:
        """Images in the memory, at most."""
        return 0 if self.me is None else self.me.memory.filled

    # --- images ---

    def check(self, x: Tensor, labels: Sequence[Hashable]) -> None:
        """Refuse images of no fitting shape, and labels beyond the limit."""
        unlearned = (arrival.label for arrival in (*self.held_back.kept, *self.waiting))
        self.labels.check_room([*unlearned, *labels])
        self.check_shape(x)

    def check_shape(self, x: Tensor) -> None:
        """Refuse images of another shape than earlier ones, and those too large for a file."""
        if max(x.shape[2:]) > LARGEST_SIDE:
            raise UserError(
                f"images are {x.shape[2]}x{x.shape[3]}, with more than {LARGEST_SIDE:,} pixels a "
                "side: resize them, or make a learner with image_size="
            )
        if len(x) and self.shape and tuple(x.shape[1:]) != self.shape:
            _, height, width = self.shape
            raise UserError(
                f"images are {x.shape[2]}x{x.shape[3]}, earlier ones {height}x{width}: "
                "resize them, or make a learner with image_size="
            )

    def enqueue(self, arrivals: Sequence[Arrival]) -> None:
        """Let images wait for their batch; the first one decides about the network."""
        if arrivals and self.stepper is None:
            shape, closed = tuple(arrivals[0].image.shape), self.classes is not None
            self._warn_of_large_images(shape)
            self.start(self.origin.state(shape, self.classes or FIRST_CAPACITY, closed))
        self.held_back, others = self.held_back.share(arrivals)
        self.waiting = [*self.waiting, *others]

    def _warn_of_large_images(self, shape: tuple[int, ...]) -> None:
        """Say what a step will cost, before the network is made for these images."""
        _, height, width = shape
        if self.arguments.module is None and height * width >= LARGE * LARGE:
            times = round(height * width / 32**2)
            warn(
                f"images of {height}x{width} pixels: a step takes about {times} times as long as "
                f"with 32x32; set image_size=, such as 64, or give a backbone"
            )

    # --- steps and tasks ---

    def step(self) -> None:
        """Learn from the oldest images that wait, a batch or fewer; nothing is read back."""
        size = self.arguments.method.stream_batch
        batch, left = self.waiting[:size], self.waiting[size:]
        labels = self.labels.added(arrival.label for arrival in batch)
        fresh = len(labels) > len(self.labels)
        stepper = self.with_room_for(labels.rows)
        if fresh and self.task_gap is not None and self.steps - self.new_class_at >= self.task_gap:
            stepper.end_task()
        y = torch.tensor([labels.number(arrival.label) for arrival in batch])
        new = Batch(torch.stack([arrival.image for arrival in batch]), y)
        try:
            self.loss = stepper.step(self.execution.moved(new))
            if self.pace is not None:
                self.pace.queued()
        except UserError as error:
            raise Unlearnable(str(error)) from error
        self._remember_ids(batch, self.steps * size)
        self.steps += 1
        self.new_class_at = self.steps if fresh else self.new_class_at
        self.labels, self.waiting = labels, left

    def _remember_ids(self, batch: Sequence[Arrival], first: int) -> None:
        named = {first + i: a.id for i, a in enumerate(batch) if a.id is not None}
        if named:
            self.ids = self.ids | named
        if len(self.ids) > 2 * self.arguments.memory + len(batch):
            self.ids = self.stored_ids()

    def stored_ids(self) -> dict[int, Hashable]:
        """Ids of images in the memory; this reads from the device."""
        assert self.me is not None
        numbers = [number for _, number in rows_in_use(self.me.memory)]
        return {number: self.ids[number] for number in numbers if number in self.ids}

    def end_task(self) -> None:
        """End the current task; from now on only the caller ends tasks."""
        self.task_gap = None
        if self.stepper is not None:
            self.stepper.end_task()

    def open_to_more_classes(self) -> None:
        """Let heads grow beyond the number of classes that was given."""
        self.classes, self.labels = None, self.labels.without_limit()
        if self.stepper is not None:
            self.stepper.take(replace(self.stepper.me, closed=False))

    def with_room_for(self, rows: int) -> Eager:
        """The stepper with rows for all classes; heads double in size, and keep their old rows."""
        assert self.stepper is not None
        while rows > self.stepper.me.classes:
            self.stepper.take(self.origin.larger(self.stepper.me))
        return self.stepper

    def forget(self, ids: Names, labels: Names) -> int:
        """Remove images from memory and queue, and make labels unseen; how many images left."""
        waiting = [a for a in self.waiting if not a.is_named(ids, labels)]
        held_back = self.held_back.without(ids, labels)
        gone = len(self.waiting) - len(waiting) + len(self.held_back.kept) - len(held_back.kept)
        self.waiting, self.held_back = waiting, held_back
        forgotten = [label for label in self.labels.all if with_type(label) in labels]
        numbers = [self.labels.number(label) for label in forgotten]
        if self.me is not None:
            rows = rows_in_use(self.me.memory)
            kept = [
                slot
                for slot, (y, number) in enumerate(rows)
                if not (y in numbers or with_type(self.ids.get(number)) in ids)
            ]
            gone += len(rows) - len(kept)
            if numbers or len(kept) < len(rows):
                self._keep_only(kept, numbers)
            else:
                self.start(replace(self.me, memory=without_rejected(self.me.memory)))
            self.ids = self.stored_ids()
        self.labels = self.labels.without(labels)
        return gone

    def _keep_only(self, slots: list[int], unseen: list[int]) -> None:
        """Continue with a reduced memory, in a new stepper: no old buffer keeps a pixel."""
        assert self.me is not None
        memory = reduced(self.me.memory, torch.tensor(slots, dtype=torch.int64))
        me = replace(self.me, memory=memory)
        self.start(self.origin.unlearned(me, unseen) if unseen else me)

    def warn_of_refused_steps(self) -> None:
        """Warn once, where the host waits for the device anyway: this reads from it."""
        if self.warned or self.me is None:
            return
        if refused := int(self.me.refused):
            self.warned = True
            steps = "1 step was" if refused == 1 else f"{refused} steps were"
            warn(f"{steps} refused because the loss or the update is not finite: use a lower lr")

    # --- all or nothing, and copies ---

    def start(self, me: State) -> None:
        """Continue from a state."""
        self.stepper, self.pace = self.execution.stepper(self.engine, me), self.execution.pace()
        self.steps = int(me.step)

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """Undo everything inside the block if it fails."""
        before = vars(self).copy()
        try:
            with nullcontext() if self.stepper is None else self.stepper.atomic():
                yield
        except BaseException as error:
            vars(self).update(before)
            if self.stepper is None or (isinstance(error, Unlearnable) and self.steps == 0):
                # Refused images must not fix the image shape, nor a network made for it.
                self.origin, self.stepper, self.waiting = Origin(self.arguments), None, []
                self.held_back = HeldBack(self.arguments.calibration)
            raise

    def __copy__(self) -> Training:
        """An independent copy; the memory is cloned because its rows are written in place."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        if self.me is not None:
            twin.start(replace(self.me, memory=tree.map_leaves(torch.clone, self.me.memory)))
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """For pickles and deep copies: the state without its graphs, which are captured again."""
        return vars(self) | {"stepper": self.me, "pace": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        if kept["stepper"] is not None:
            self.start(kept["stepper"])
