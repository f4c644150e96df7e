"""A service as JSON: progress and accuracy over time for the page, contents of the memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import astuple
from math import isfinite
from typing import Any

from bison_ocl.learner.labels import encode
from bison_ocl.methods import name_of
from bison_ocl.serve.service import Service


def status(service: Service) -> dict[str, Any]:
    """What the page shows; numbers that do not exist yet are null."""
    learner, metrics = service.learner, service.learner.metrics
    tested, by_label, stored = metrics.counts.tested, metrics.by_label, kept(service)
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


def memory(service: Service) -> dict[str, Any]:
    """Capacity, and the number of stored images of each label."""
    stored = kept(service)
    return {
        "capacity": service.capacity,
        "stored": sum(stored.values()),
        "by_label": [{"label": encode(label), "images": n} for label, n in stored.items()],
    }


def kept(service: Service) -> dict[Hashable, int]:
    """Stored images of each label, in the order of the labels."""
    training = service.learner._training
    if training.me is None:
        return {}
    rows = training.me.memory
    counts = Counter(rows.y[: rows.capacity][rows.used].tolist())
    return {training.labels.all[number]: counts[number] for number in sorted(counts)}
