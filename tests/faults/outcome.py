"""What an attack came to: how often it ended in which way, and the worst it took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

HARMLESS = frozenset(
    {"bit-equal", "right values", "other values", "refused in one line", "served", "stopped, kept"}
)
"""Verdicts that are no fault. Other values: of a format that has no checksum."""


@dataclass
class Outcome:
    """How many tries, counts by verdict, and the worst seconds and memory where measured."""

    made: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    megabytes: float = 0.0
    examples: dict[str, str] = field(default_factory=dict)
    """of each fault the first, in words"""

    def add(self, verdict: str, example: str = "") -> None:
        self.verdicts[verdict] += 1
        if verdict not in HARMLESS:
            self.examples.setdefault(verdict, example)

    @property
    def faults(self) -> dict[str, str]:
        """The verdicts that must not be, each with an example."""
        return {
            verdict: f"{self.verdicts[verdict]} times, first: {example}"
            for verdict, example in self.examples.items()
        }


Attack = Callable[[int, int], Outcome]
"""attack(count, seed): so many tries, the same ones for the same seed."""
