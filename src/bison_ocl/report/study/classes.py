"""Classes of a run: their names, which are similar, which came when (Wen 2026, confusion study)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bison_ocl.data.sources.cifar10 import CIFAR10
from bison_ocl.evaluate.confusion import Floats, Integers, Pairs, column_precision
from bison_ocl.report.study.entry import Entry

SIMILAR: dict[tuple[str, str], Pairs] = {
    (CIFAR10.name, "order:confusion"): ((3, 5), (4, 7), (1, 9), (0, 8), (2, 6))
}
"""Each the other's likeliest mistake, by dataset and stream. CIFAR-10: cat and dog, deer and horse,
automobile and truck, airplane and ship, bird and frog, each split over two tasks."""


def class_names(records: Sequence[Entry]) -> Sequence[str]:
    """Names by class id, of runs on one dataset; numbers where no record keeps the names."""
    kept = [record.class_names for record in records if record.class_names]
    if kept:
        return max(kept, key=len)
    first = records[0]
    if first.data == CIFAR10.name:
        return CIFAR10.class_names
    return [str(label) for label in range(1 + max(first.class_order))]


def as_heading(name: str) -> str:
    """A class's name where nothing else says that it is one: `cat`, but `class 3`."""
    return f"class {name}" if name.isdecimal() else name


def similar_pairs(record: Entry) -> Pairs:
    """The pairs of similar classes; none where the paper names none."""
    return SIMILAR.get((record.data, record.stream), ())


def task_of_class(record: Entry) -> Integers:
    """After which task each class was first tested, from 0 [C]; needs confusion matrices."""
    tested = np.array(record.confusion).sum(2) > 0
    return np.asarray(tested.argmax(0))


def shown_precision(counts: Sequence[Sequence[int]]) -> Floats:
    """Of the images given each class, the share that is right [C]; 0 where none is given it."""
    return np.nan_to_num(column_precision(counts))


def newest(record: Entry) -> tuple[int, ...]:
    """The classes of the last task, as they first came; needs confusion matrices."""
    tasks = task_of_class(record)
    return tuple(label for label in record.class_order if tasks[label] == tasks.max())
