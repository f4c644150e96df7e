"""A service as JSON for the page: progress, accuracy over time, classes and memory."""

from __future__ import annotations

from dataclasses import astuple
from math import isfinite
from typing import Any

from bison_ocl.learner.labels.names import display_names
from bison_ocl.methods import name_of
from bison_ocl.serve.service import Service


def status(service: Service) -> dict[str, Any]:
    """What the page shows; numbers that do not exist yet are null."""
    learner, metrics = service.learner, service.learner.metrics
    tested, by_label, stored = metrics.counts.tested, metrics.by_label, learner.stored_by_label
    known = list(dict.fromkeys([*learner.learned_labels, *tested]))
    classes = [
        {
            "label": text,
            "tested": tested.get(label, 0),
            "accuracy": by_label.get(label),
            "stored": stored.get(label, 0),
        }
        for label, text in zip(known, display_names(known), strict=True)
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
        "memory": {"stored": sum(stored.values()), "capacity": learner.capacity},
        "saved": service.saved_at,
        "journal": service.journal.size,
        "failed_saves": service.failed_saves,
        "history": [astuple(point) for point in service.history.points],
    }
