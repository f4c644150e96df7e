"""Pairs of similar classes, each the other's likeliest mistake (Wen 2026, confusion study)."""

from __future__ import annotations

from bison_ocl.data.cifar10 import CIFAR10
from bison_ocl.evaluate.confusion import Pairs

SIMILAR: dict[tuple[str, str], Pairs] = {
    (CIFAR10.name, "order:confusion"): ((3, 5), (4, 7), (1, 9), (0, 8), (2, 6))
}
"""By dataset and stream. CIFAR-10: cat and dog, deer and horse, automobile and truck, airplane and
ship, bird and frog, each split over two tasks (methods sheet §4.6)."""
