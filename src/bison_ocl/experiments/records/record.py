"""The record of a finished run: its identity, what it measured, and where it was computed.

One line of results.jsonl. docs/RECORDS.md describes every field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from bison_ocl.experiments.records.spec import Spec

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

D = TypeVar("D", bound="DataclassInstance")

SCHEMA = 2

Matrix = list[list[float]]
Counts = list[list[int]]
"""a confusion matrix [C, C]"""


@dataclass(frozen=True)
class Metrics:
    """Metrics of an accuracy matrix, as fractions (paper, §5.1)."""

    AA: float
    AF: float
    """forgetting by the text's formula"""
    AF_table: float
    """forgetting as the paper's tables have it: mean over all tasks, maximum over all rows"""
    AI: float | None = None
    """intransigence; None until a FINE-TUNE run on the same stream is available"""
    A_AUC: float | None = None
    """area under the accuracy curve, where tasks share classes"""


@dataclass(frozen=True)
class Scores:
    """Scores of a run's network by another inference rule."""

    accuracy: Matrix
    metrics: Metrics
    confusion: list[Counts] | None = None


@dataclass(frozen=True)
class Losses:
    """Mean training loss up to each step since the previous one; None where it was not finite."""

    steps: list[int]
    loss: list[float | None]


@dataclass(frozen=True)
class Anytime:
    """Accuracy on the classes met so far, between task ends."""

    steps: list[int]
    accuracy: list[float]


@dataclass(frozen=True)
class Timing:
    """Seconds per run; seeds trained together share the time equally."""

    train_s: float
    test_s: float
    total_s: float
    ms_per_step: float
    seeds_at_once: int = 1
    compiled: bool = False
    peak_MB: float | None = None
    """GPU memory; None on a CPU, and in records from before it was measured"""


@dataclass(frozen=True)
class Environment:
    """Software and hardware of a run."""

    device: str
    """the model of the processor or the GPU"""
    threads: int
    device_type: str = "cpu"
    bison_ocl: str | None = None
    python: str | None = None
    torch: str | None = None
    numpy: str | None = None
    platform: str | None = None


@dataclass(frozen=True, kw_only=True)
class Record(Spec):
    """A run's identity and its outcome."""

    class_order: list[int]
    """the dataset's class ids in order of first appearance"""
    accuracy: Matrix
    """a[k][j]: accuracy on task j after task k"""
    metrics: Metrics
    also: dict[str, Scores]
    """other inference rules on the same network, by name"""
    confusion: list[Counts] | None = None
    """after each task, by label and prediction; None for datasets of many classes"""
    class_names: list[str] | None = None
    """of the rows and columns of confusion matrices; None without these, and in older records"""
    parameters: int | None = None
    log: list[dict[str, float | None]]
    """what the method logs at task ends: α and η for BISON"""
    losses: Losses | None = None
    anytime: Anytime | None = None
    refused_steps: int = 0
    """steps left out because their loss or update was not finite"""
    timing: Timing
    data_sha256: str | None = None
    """checksum of the test images"""
    train_sha256: str | None = None
    """checksum of the training images"""
    method_title: str | None = None
    """the method's name as tables print it; None in records from before it was kept"""
    method_source: str | None = None
    """checksum of the source of a method from outside the package"""
    method_preset: dict[str, Any] | None = None
    """the method's own settings on this dataset, before any was changed; None in older records"""
    environment: Environment
    commit: str | None

    @property
    def counts(self) -> list[Counts]:
        """The confusion matrices, of a run that kept them."""
        if self.confusion is None:
            raise ValueError(f"{self.name} kept no confusion matrices")
        return self.confusion


NESTED: dict[str, type[DataclassInstance]] = {
    "metrics": Metrics,
    "losses": Losses,
    "anytime": Anytime,
    "timing": Timing,
    "environment": Environment,
}
"""fields of a record that are dataclasses themselves"""


def as_values(record: Record) -> dict[str, Any]:
    """A record as JSON values; lists are shared, not copied."""
    also = {rule: _flat(scores) for rule, scores in record.also.items()}
    return {"schema": SCHEMA} | _flat(record) | {"also": also}


def _flat(record: Record | Scores) -> dict[str, Any]:
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return {name: vars(v) if name in NESTED and v else v for name, v in values.items()}


def from_values(values: Mapping[str, Any]) -> Record:
    """The record of a checked line in the schema above."""
    also = {
        rule: Scores(s["accuracy"], from_fields(Metrics, s["metrics"]), s.get("confusion"))
        for rule, s in values["also"].items()
    }
    nested = {
        name: from_fields(kind, values[name]) for name, kind in NESTED.items() if values.get(name)
    }
    return from_fields(Record, {**values, **nested, "also": also})


def from_fields(kind: type[D], values: Mapping[str, Any]) -> D:
    """A dataclass from the values that it has fields for; a missing one counts as its default."""
    names = [field.name for field in fields(kind) if field.name in values]
    return kind(**{name: values[name] for name in names})
