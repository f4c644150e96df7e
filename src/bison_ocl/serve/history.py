"""Accuracy over time since the server started, in a bounded number of points."""

from __future__ import annotations

from dataclasses import dataclass, field

from bison_ocl.learner.prequential import Metrics

MOST = 400
"""points; beyond it every second one is dropped, and half as many are added"""


@dataclass(frozen=True)
class Point:
    """Prequential accuracy after a number of tested images."""

    seconds: float
    """since 1970"""
    images: int
    accuracy: float | None
    recent: float | None


@dataclass
class History:
    """Points after every call, later after every second one, ...; and the newest."""

    kept: list[Point] = field(default_factory=list)
    newest: Point | None = None
    calls: int = 0
    every: int = 1

    def add(self, seconds: float, metrics: Metrics) -> None:
        self.newest = Point(seconds, metrics.counts.images, metrics.accuracy, metrics.recent)
        if self.calls % self.every == 0:
            self.kept = [*self.kept, self.newest]
        if len(self.kept) > MOST:
            self.kept, self.every = self.kept[::2], 2 * self.every
        self.calls += 1

    @property
    def points(self) -> list[Point]:
        kept = self.kept
        return kept if self.newest is None or self.newest in kept[-1:] else [*kept, self.newest]
