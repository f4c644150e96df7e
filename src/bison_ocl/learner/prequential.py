"""Prequential metrics of a learner: each image is tested, then learned.

Gama, Sebastião & Rodrigues 2013, "On evaluating stream learning algorithms" (prequential error).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

from bison_ocl.learner.labels.names import Names, with_type

WINDOW = 1000
"""the last images that `recent` is about"""


@dataclass(frozen=True)
class Prequential:
    """Counts of images that were predicted before they were learned."""

    tested: dict[Hashable, int] = field(default_factory=dict)
    """images of each label"""
    right: dict[Hashable, int] = field(default_factory=dict)
    """of them, those predicted right"""
    hits: tuple[bool, ...] = field(default=(), repr=False)
    """of the last images, oldest first"""
    nameless: tuple[int, int] = (0, 0)
    """images of forgotten labels, and those of them predicted right: they count, without a name"""

    def counted(
        self, predicted: Sequence[Hashable | None], labels: Sequence[Hashable]
    ) -> Prequential:
        """The counts with more images; one predicted as None, before the first step, is wrong."""
        tested, right = dict(self.tested), dict(self.right)
        hits = [guess == label for guess, label in zip(predicted, labels, strict=True)]
        for label, hit in zip(labels, hits, strict=True):
            tested[label] = tested.get(label, 0) + 1
            right[label] = right.get(label, 0) + hit
        return replace(self, tested=tested, right=right, hits=(*self.hits, *hits)[-WINDOW:])

    def without(self, labels: Names) -> Prequential:
        """The counts without the names of some labels; overall accuracy does not change."""
        gone = {label for label in self.tested if with_type(label) in labels}
        images, right = self.nameless
        images += sum(self.tested[label] for label in gone)
        right += sum(self.right[label] for label in gone)
        return replace(
            self,
            tested={label: n for label, n in self.tested.items() if label not in gone},
            right={label: n for label, n in self.right.items() if label not in gone},
            nameless=(images, right),
        )

    @property
    def images(self) -> int:
        return sum(self.tested.values()) + self.nameless[0]

    @property
    def accuracy(self) -> float | None:
        """Accuracy over all images; None before the first."""
        right = sum(self.right.values()) + self.nameless[1]
        return right / self.images if self.images else None

    @property
    def recent(self) -> float | None:
        """Accuracy over the last 1,000 images."""
        return sum(self.hits) / len(self.hits) if self.hits else None

    @property
    def by_label(self) -> dict[Hashable, float]:
        return {label: self.right[label] / n for label, n in self.tested.items()}


@dataclass(frozen=True)
class Metrics:
    """A learner's progress."""

    counts: Prequential
    """of images that `test_then_train` predicted"""
    steps: int
    waiting: int
    """images that wait for their batch"""
    loss: float | None
    """of the last step; NaN where it was refused"""

    @property
    def accuracy(self) -> float | None:
        """Prequential accuracy over all tested images."""
        return self.counts.accuracy

    @property
    def recent(self) -> float | None:
        """Prequential accuracy over the last 1,000 tested images."""
        return self.counts.recent

    @property
    def by_label(self) -> dict[Hashable, float]:
        """Prequential accuracy of each label."""
        return self.counts.by_label
