"""What a run costs, in steps of ER on images of 32x32: a rough guide for plans and time left.

Costs of methods were measured on CPU (benchmarks/step.json); GDumb's is counted from its epochs.
On a GPU the dear ones are relatively cheaper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

STEP = {
    "finetune": 0.5,
    "er": 1.0,
    "er-ace": 1.0,
    "mir": 1.8,
    "gss": 4.3,
    "agem": 1.0,
    "gdumb": 0.0,
    "scr": 1.0,
    "aser": 2.7,
    "ssil": 1.0,
    "er-dvc": 2.0,
    "ocm": 15.6,
    "pcr": 0.8,
    "lode": 1.5,
    "onpro": 16.6,
    "bison": 1.0,
}
"""A step of each method over one of ER, both of 10 stream and 10 buffer images."""

EPOCHS, BATCH, FILTERS = 30, 10, 20
TESTED = 1 / 120
"""An image that is only classified over a step of ER, which learns from 40: a third of each."""


@dataclass(frozen=True)
class Size:
    """What decides the cost of a dataset."""

    train: int
    test: int
    tasks: int
    side: int


SIZES = {
    "split-digits": Size(1400, 340, 5, 32),
    "split-cifar10": Size(50_000, 10_000, 5, 32),
    "split-cifar100": Size(50_000, 10_000, 10, 32),
    "split-miniimagenet": Size(50_000, 10_000, 10, 84),
    "split-tinyimagenet": Size(100_000, 10_000, 10, 64),
}
UNKNOWN = Size(50_000, 10_000, 10, 32)
"""Stands for a dataset of the user's own, whose size is not known before it is read."""


def cost(method: str, data: str, memory: int, settings: Mapping[str, Any]) -> float:
    """Steps of ER that take as long as a run."""
    size = SIZES.get(data, UNKNOWN)
    stream = int(settings.get("stream_batch", BATCH))
    replay = int(settings.get("buffer_batch", BATCH))
    filters = int(settings.get("filters", FILTERS))
    image = (size.side / 32) ** 2 * (filters / FILTERS) ** 2
    learned = size.train / stream * STEP.get(method, 1.0) * (stream + replay) / (2 * BATCH)
    if method == "gdumb":
        learned += size.tasks * EPOCHS * memory / (2 * BATCH)
    return image * (learned + TESTED * size.test * (size.tasks + 1) / 2)
