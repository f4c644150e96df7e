"""Choice of the snapshot that answers a prediction, and of the time for the next one."""

from __future__ import annotations

import copy
from dataclasses import replace
from math import inf

import torch
from torch import Tensor

from bison_ocl.errors import UserError
from bison_ocl.learner.calibration import Fit, fit
from bison_ocl.learner.schedule import affordable, is_due
from bison_ocl.learner.snapshot import Snapshot, take_snapshot
from bison_ocl.learner.training import Training
from bison_ocl.threads import Lock

REFRESH = 20
"""steps that a snapshot may be old; a small memory affords newer ones"""
PAUSE = 0.01
"""seconds between looks for the first snapshot, while another thread learns"""


class NotLearned(UserError):
    """Nothing to predict from: no step, no label, no image that the rule reads, lost weights."""


class Predicting:
    """The newest snapshot of a learner. Predictions never wait for another thread's learning."""

    def __init__(self) -> None:
        self.snapshot: Snapshot | None = None
        self.asked = False
        """whether a thread asked while another one learned, so that the next step answers it"""
        self.fit: Fit | None = None
        """the temperature in use"""

    def current(self, training: Training, lock: Lock) -> Snapshot:
        """The newest snapshot, taken now if it is due and no other thread is learning.

        The first one waits for the end of a step that another thread takes, not of its call.
        """
        snapshot = self.snapshot  # another thread may replace it at any time
        while not lock.acquire(timeout=PAUSE if snapshot is None else 0):
            self.asked = True
            if snapshot is not None:
                return snapshot
            snapshot = self.snapshot
        try:
            return self.refreshed(training)
        finally:
            lock.release()

    def refreshed(self, training: Training) -> Snapshot:
        """The snapshot, taken now if it is due; the caller keeps other threads from learning."""
        self.asked = False
        if self.snapshot is None or self.is_due(training):
            self.snapshot = self._taken(training)
        return self.snapshot

    def _taken(self, training: Training) -> Snapshot:
        snapshot, held_back = of_now(training), training.held_back.kept
        if self.fit is None or not self.fit.serves(snapshot, training.arguments.refresh):
            with training.execution.active():
                self.fit = fit(snapshot, held_back)
        training.execution.wait()  # predictions read it ahead of steps that are queued
        return replace(snapshot, temperature=self.fit.temperature)

    def is_due(self, training: Training) -> bool:
        """Whether the next prediction takes a new snapshot."""
        return is_due(training.steps, self.snapshot, training.new_class_at, spacing(training))

    def after_step(self, training: Training) -> None:
        """Take the snapshot that another thread asked for and did not wait for."""
        if self.asked:
            self.refreshed(training)

    def renew(self, training: Training) -> None:
        """Replace a snapshot in use, so that predictions need not wait for the next one."""
        if self.snapshot is not None:
            self.snapshot = self._taken(training) if training.knows else None

    def __copy__(self) -> Predicting:
        """A copy predicts the same: it shares the snapshot, which never changes."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self) | {"asked": False})
        return twin

    def __deepcopy__(self, memo: dict[int, object]) -> Predicting:
        return copy.copy(self)

    def __getstate__(self) -> dict[str, object]:
        """For pickles: the temperature, without the snapshot, which is taken again."""
        return vars(self) | {"snapshot": None, "asked": False}


def spacing(training: Training) -> float:
    """Steps between snapshots, except soon after a new class."""
    made = training.arguments
    if made.by_heads:
        return 1
    passes = training.filled * (2 if made.mirrors else 1)
    return min(made.refresh, affordable(passes, made.method, made.frozen))


def of_now(training: Training) -> Snapshot:
    """A snapshot of what was learned so far."""
    if training.me is None or not training.knows:
        images = "image completes" if training.room == 1 else "images complete"
        missing = f"{training.room} more {images} the first batch, or call flush"
        advice = missing if training.waiting else "call observe first"
        why = "all labels were forgotten" if training.steps else "nothing has been learned yet"
        raise NotLearned(f"{why}: {advice}")
    with torch.inference_mode(False), training.execution.active():
        training.warn_of_refused_steps()
        rule, labels = training.arguments.rule, training.labels
        return take_snapshot(training.engine, rule, training.me, labels, training.steps)


def check_answered(scores: Tensor) -> None:
    """Refuse scores in which no label is possible. scores: [B, labels]; −∞ without an image"""
    if bool(scores.isneginf().all(1).any()):
        raise NotLearned("no image is stored to compare with: call observe first")
    if not bool((scores < inf).all()):
        why = "scores are not finite because training diverged"
        raise NotLearned(f"{why}: start again with a lower lr")
