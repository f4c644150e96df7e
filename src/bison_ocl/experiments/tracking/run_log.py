"""The log of one run at a tracker, from its first point to its record."""

from __future__ import annotations

from abc import ABC, abstractmethod

from bison_ocl.experiments.tracking.logged_record import Curve, LoggedRecord


class RunLog(ABC):
    """The log of one run; points that it holds are not written again."""

    def __init__(self) -> None:
        self.last: dict[str, int] = {}
        """the last step of every curve"""

    def add(self, curves: dict[str, Curve]) -> None:
        """Write the points of these curves that are new."""
        new = {
            name: [(step, value) for step, value in curve if step > self.last.get(name, -1)]
            for name, curve in curves.items()
        }
        new = {name: curve for name, curve in new.items() if curve}
        self.write(new)
        self.last |= {name: curve[-1][0] for name, curve in new.items()}

    @abstractmethod
    def write(self, curves: dict[str, Curve]) -> None:
        """Write points where others see them now."""

    @abstractmethod
    def finish(self, logged: LoggedRecord) -> None:
        """Write what is known at the end, and give the log the name of the record."""

    @abstractmethod
    def stop(self) -> None:
        """Close the log of a run that did not finish."""
