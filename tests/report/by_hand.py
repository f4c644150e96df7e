"""Small tables made by hand."""

from __future__ import annotations

from collections.abc import Sequence

from bison_ocl.report.study.measures import AA, Measure
from bison_ocl.report.study.paper import Published
from bison_ocl.report.tables.table import Column, Comparison, Label, Row, Table

PLACE = ("split-digits", "{}", "class-incremental", 100)


def cell(*values: float, paper: Published | None = None) -> Comparison:
    return Comparison(dict(enumerate(values)), paper)


def column(measure: Measure = AA, group: str = "all") -> Column:
    return Column(PLACE, group, measure.label, measure)


def table(
    lines: dict[str, Sequence[Comparison]],
    columns: Sequence[Column] | None = None,
    main: str | None = None,
    reference: str | None = None,
) -> Table:
    made = columns or [column()]
    found = [
        Row(Label(name, main=name == main, reference=name == reference), tuple(row))
        for name, row in lines.items()
    ]
    return Table("t", "T", tuple(made), tuple(found), planned=10)
