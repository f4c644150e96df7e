"""Classes of a confusion matrix: similar pairs, the order on the axes, the task of each."""

from __future__ import annotations

import numpy as np

from bison_ocl.evaluate.confusion import Integers, Pairs
from bison_ocl.experiments.records import Record
from bison_ocl.report.figures.groups import Group
from bison_ocl.report.names import class_name
from bison_ocl.report.similar import SIMILAR


def similar_pairs(group: Group) -> Pairs:
    """The pairs of similar classes; none where the paper names none."""
    return SIMILAR.get((group.first["data"], group.first["stream"]), ())


def shown_order(group: Group) -> list[int]:
    """Similar classes side by side; else as they came, if to all seeds alike; else by id."""
    if pairs := similar_pairs(group):
        return [label for pair in pairs for label in pair]
    orders = {tuple(record["class_order"]) for record in group.records}
    return list(orders.pop()) if len(orders) == 1 else sorted(orders.pop())


def shown_names(group: Group) -> list[str]:
    """The classes in that order, by name where it is known."""
    names = [class_name(group.first["data"], label) for label in shown_order(group)]
    return [name.removeprefix("class ") for name in names]


def task_of_class(record: Record) -> Integers:
    """After which task each class was first tested, from 0 [C]."""
    tested = np.array(record["confusion"]).sum(2) > 0
    return np.asarray(tested.argmax(0))
