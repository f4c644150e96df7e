"""Metrics of a service as Prometheus reads them (text exposition format 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeVar

from bison_ocl.learner.labels.names import display_names
from bison_ocl.serve.service import Service

CONTENT_TYPE = "text/plain; version=0.0.4"
PREFIX = "bison_ocl"
K = TypeVar("K")


def exposition(service: Service, refused: Mapping[int, int]) -> str:
    """All metrics, each with its help and type."""
    learner, metrics = service.learner, service.learner.metrics
    stored, by_label = learner.stored_by_label, metrics.by_label
    known = list(dict.fromkeys([*stored, *by_label]))
    names = dict(zip(known, display_names(known), strict=True))
    families = [
        family("steps_total", "counter", "Steps of the optimiser.", metrics.steps),
        family("waiting_images", "gauge", "Images that wait for their batch.", metrics.waiting),
        family("tested_total", "counter", "Images tested, then learned.", metrics.counts.images),
        family("accuracy", "gauge", "Prequential accuracy over all images.", metrics.accuracy),
        family("recent_accuracy", "gauge", "The same over the last 1,000.", metrics.recent),
        family(
            "class_accuracy",
            "gauge",
            "Prequential accuracy by label.",
            labelled("label", {names[label]: share for label, share in by_label.items()}),
        ),
        family("loss", "gauge", "Loss of the last step.", metrics.loss),
        family("classes", "gauge", "Learned classes.", len(learner.learned_labels)),
        family(
            "memory_images",
            "gauge",
            "Stored images by label.",
            labelled("label", {names[label]: n for label, n in stored.items()}),
        ),
        family("memory_capacity", "gauge", "Largest number of stored images.", learner.capacity),
        family("saved_seconds", "gauge", "Time of the last save, since 1970.", service.saved_at),
        family("failed_saves_total", "counter", "Saves that failed.", service.failed_saves),
        family("journal_bytes", "gauge", "Size of the journal.", service.journal.size),
        family("refused_total", "counter", "Refused requests.", labelled("status", refused)),
    ]
    return "".join(line for lines in families for line in lines)


def family(
    name: str, kind: Literal["counter", "gauge"], text: str, values: float | dict[str, float] | None
) -> Iterator[str]:
    """The lines of one metric: a number, or one for each set of labels; None has no line."""
    yield f"# HELP {PREFIX}_{name} {text}\n"
    yield f"# TYPE {PREFIX}_{name} {kind}\n"
    if not isinstance(values, dict):
        values = {} if values is None else {"": values}
    for labels, number in values.items():
        shown = "NaN" if number != number else number
        yield f"{PREFIX}_{name}{labels} {shown}\n"


def labelled(name: str, numbers: Mapping[K, float]) -> dict[str, float]:
    """Numbers by the text of their label, `{label="bison"}`."""
    return {f'{{{name}="{escaped(value)}"}}': number for value, number in numbers.items()}


def escaped(value: object) -> str:
    return str(value).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
