"""A service as JSON for the page: progress, accuracy over time, classes and memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import astuple
from math import isfinite
from typing import Any

from bison_ocl.learner.labels import encode
from bison_ocl.memory.removal import rows_in_use
from bison_ocl.methods import name_of
from bison_ocl.serve.service import Service


def status(service: Service) -> dict[str, Any]:
    """What the page shows; numbers that do not exist yet are null."""
    learner, metrics = service.learner, service.learner.metrics
    tested, by_label, stored = metrics.counts.tested, metrics.by_label, stored_by_label(service)
    classes = [
        {
            "label": encode(label),
            "tested": tested.get(label, 0),
            "accuracy": by_label.get(label),
            "stored": stored.get(label, 0),
        }
        for label in dict.fromkeys([*service.labels, *tested])
    ]
    return {
        "file": service.path.name,
        "method": learner.method.title or name_of(type(learner.method)),
        "steps": metrics.steps,
        "waiting": metrics.waiting,
        "tested": metrics.counts.images,
        "accuracy": metrics.accuracy,
        "recent": metrics.recent,
        "loss": metrics.loss if metrics.loss is not None and isfinite(metrics.loss) else None,
        "classes": classes,
        "memory": {"stored": sum(stored.values()), "capacity": service.capacity},
        "saved": service.saved_at,
        "journal": service.journal.size,
        "failed_saves": service.failed_saves,
        "history": [astuple(point) for point in service.history.points],
    }


def stored_by_label(service: Service) -> dict[Hashable, int]:
    """Stored images of each label, in the order of the labels."""
    training = service.learner._training
    if training.me is None:
        return {}
    counts = Counter(number for number, _ in rows_in_use(training.me.memory))
    labels = zip(training.labels.all, training.labels.numbers, strict=True)
    return {label: counts[number] for label, number in labels if counts[number]}
