"""Confusion matrices, the largest error of each class outlined (paper, Fig. 7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.experiments.records.spec import own_name
from bison_ocl.report.figures.chart import Axis, Chart, Frame, Map, NotShown
from bison_ocl.report.figures.panels import Panel, panels
from bison_ocl.report.study.classes import class_names, similar_pairs
from bison_ocl.report.study.experiments import Experiment, Floats, compared, having

HALF = 0.5
"""of an image: fewer are printed as 0"""
NOTE = (
    "Test images at the end of training, mean over runs; rows are labels, columns predictions. "
    "Outlined: the most frequent error of a class."
)
PAIRS = "Dashed: pairs of similar classes."


def confusion(experiments: Sequence[Experiment]) -> list[Chart]:
    """One matrix per experiment."""
    return [chart(one) for panel in panels(with_confusion(experiments)) for one in panel.lines]


def with_confusion(experiments: Sequence[Experiment]) -> list[Experiment]:
    """Experiments with confusion matrices.

    The paper's confusion study compares all methods under nearest class mean: there a network that
    was scored twice is shown by the other rule only.
    """
    known = having(compared(experiments), lambda record: record.confusion)
    rescored = {own_name(one.method) for one in known if one.rescored and one.item in ITEMS}
    kept = [one for one in known if one.method not in rescored]
    if not kept:
        raise NotShown("no confusion matrices in the records (they are kept up to 20 classes)")
    return kept


def chart(one: Experiment) -> Chart:
    alone = Panel((one,))
    counts, names, pairs = mean_counts(one), shown_names(one), similar_pairs(one.first)
    frames = [
        *(Frame(row, column, "largest error") for row, column in largest_errors(counts)),
        *(Frame(2 * pair, 2 * pair, "similar pair", size=2) for pair in range(len(pairs))),
    ]
    return Chart(
        f"{one.title}, {alone.seeds}\n{alone.where}",
        Axis("prediction", names),
        Axis("label", names),
        map=Map(counts.tolist(), decimals=0, frames=frames),
        method=one.method,
        notes=[NOTE, *[PAIRS] * bool(pairs)],
    )


def shown_order(one: Experiment) -> list[int]:
    """Similar classes side by side; else as they came, if to all seeds alike; else by id."""
    if pairs := similar_pairs(one.first):
        return [label for pair in pairs for label in pair]
    orders = {tuple(record.class_order) for record in one.records}
    return list(orders.pop()) if len(orders) == 1 else sorted(orders.pop())


def shown_names(one: Experiment) -> list[str]:
    """The classes in that order, by name where it is known."""
    names = class_names(one.records)
    return [names[label] for label in shown_order(one)]


def mean_counts(one: Experiment) -> Floats:
    """Test images at the end of training, mean over seeds, in the order shown [C, C]."""
    order = shown_order(one)
    last = np.array([record.counts[-1] for record in one.records], np.float64)
    return np.asarray(last.mean(0)[np.ix_(order, order)])


def largest_errors(counts: Floats) -> list[tuple[int, int]]:
    """Row and column of each class's most frequent error, where it is not printed as 0."""
    errors = counts * (1 - np.eye(len(counts)))
    return [(row, int(line.argmax())) for row, line in enumerate(errors) if line.max() > HALF]
