"""A small table to make claims of."""

from __future__ import annotations

from bison_ocl.experiments.plan.paper import C10
from bison_ocl.report.study.labels import Label
from bison_ocl.report.study.measures import AA, Measure
from bison_ocl.report.study.paper import Published
from bison_ocl.report.study.places import Place
from bison_ocl.report.tables.table import Column, Comparison, Row, Table

BY_POSITION = Label("OCM (old_logits=position)", printed="ocm", reading=True)


def cell(*values: float, paper: float = 50.0, std: float | None = 1.0) -> Comparison:
    return Comparison(dict(enumerate(values)), Published(paper, std))


def table(lines: dict[Label, list[Comparison]], measure: Measure = AA, data: str = C10) -> Table:
    columns = [
        Column(Place(data, "{}", "class-incremental", memory), data, f"M = {memory}", measure)
        for memory in (200, 500)[: len(next(iter(lines.values())))]
    ]
    made = tuple(Row(label, tuple(cells)) for label, cells in lines.items())
    return Table("made-up", "made up", tuple(columns), made)
