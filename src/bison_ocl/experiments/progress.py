"""How far a run has come: where it stands and what it measured so far, as a checkpoint keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Counts = list[list[int]]
"""a confusion matrix [C, C] in run ids"""


@dataclass(frozen=True)
class Progress:
    """Brought up to date when a run pauses: at tests, checkpoints and ends of tasks."""

    task: int = 0
    batch: int = 0
    step: int = 0
    confusions: list[Counts] = field(default_factory=list)
    """after each task"""
    also: dict[str, list[Counts]] = field(default_factory=dict)
    """the same by other inference rules, on the same network"""
    log: list[dict[str, float | None]] = field(default_factory=list)
    train_seconds: float = 0.0
    """spent on steps; of runs trained together, each one's share"""
    test_seconds: float = 0.0
    anytime: dict[str, list[Any]] = field(default_factory=lambda: {"steps": [], "accuracy": []})
    """where tasks overlap, what tests on the way found"""
    losses: list[float] = field(default_factory=list)
    """sums of the training loss over intervals of steps"""
    peak_megabytes: float | None = None
    """of GPU memory; of runs trained together, each one's share"""
