"""Where BISON stands among the methods of each cell, on the seeds that both have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from bison_ocl.report.claims.claim import Claim, cell_name, in_text
from bison_ocl.report.formats.markdown import escaped, grid
from bison_ocl.report.tables.marks import least_pairs, testable
from bison_ocl.report.tables.table import LEVEL, Column, Comparison, Row, Table

NONE = "–"
HOW = (
    "Rivals are all other methods. The lead is BISON's over the nearest rival, on the seeds that "
    "both have (their number); where BISON is behind, over the one furthest ahead. Significant: "
    f"p < {LEVEL} in a paired sign-flip test, corrected by Holm, against every rival with at "
    f"least {least_pairs(tests=1)} common seeds; with fewer, no result of the test would be "
    "significant."
)


@dataclass(frozen=True)
class Lead:
    """How far BISON is ahead of a method in a cell."""

    points: float
    seeds: int
    """that both have"""
    differs: bool
    """significantly"""

    @classmethod
    def over(cls, cell: Comparison, main: Comparison, column: Column) -> Lead:
        shared = cell.values.keys() & main.values.keys()
        sign = 1 if column.measure.better == "higher" else -1
        differences = [sign * (main.values[seed] - cell.values[seed]) for seed in shared]
        return cls(fmean(differences) if differences else 0.0, len(shared), cell.differs)

    @property
    def tested(self) -> bool:
        return testable(self.seeds)


@dataclass(frozen=True)
class Standing:
    """BISON beside the other methods of a cell."""

    column: Column
    leads: Mapping[str, Lead]

    @property
    def place(self) -> int:
        return 1 + sum(lead.points < 0 for lead in self.leads.values())

    @property
    def tied(self) -> list[str]:
        """Methods that could differ significantly from BISON, and do not."""
        return [name for name, lead in self.leads.items() if lead.tested and not lead.differs]

    @property
    def untested(self) -> list[str]:
        return [name for name, lead in self.leads.items() if not lead.tested]

    @property
    def alone(self) -> bool:
        """Whether BISON is significantly ahead of every method that a test is possible against."""
        return self.place == 1 and not self.tied and len(self.untested) < len(self.leads)

    def row(self) -> list[str]:
        name, lead = min(self.leads.items(), key=lambda pair: pair[1].points)
        untested = "all" if len(self.untested) == len(self.leads) else names(self.untested)
        return in_text(
            cell_name(self.column),
            f"{self.place} of {1 + len(self.leads)}",
            escaped(name),
            names(self.tied),
            untested,
            f"{lead.points:+.1f} ({lead.seeds})",
        )


def names(methods: Sequence[str]) -> str:
    return escaped(", ".join(methods)) or NONE


def standing(question: str, table: Table, intro: str = HOW) -> Claim:
    """In how many cells BISON is first, and significantly so."""
    found = list(standings(table))
    first, alone = sum(one.place == 1 for one in found), sum(one.alone for one in found)
    answer = f"It is first in {first} of {len(found)} cells, in {alone} of them significantly."
    head = ("cell", "place", "nearest rival", "no significant difference", "too few seeds", "lead")
    shown = grid(head, [one.row() for one in found], numbers=1)
    return Claim(question, " ".join([answer, *other_readings(table)]), (f"{intro}\n\n{shown}",))


def standings(table: Table) -> Iterator[Standing]:
    """The cells that BISON and another method were run in."""
    for number, column in enumerate(table.columns):
        rows = [row for row in rivals(table) if row.cells[number].ours]
        main = main_row(table)
        if main and main.cells[number].ours and rows:
            own = main.cells[number]
            leads = {row.label.text: Lead.over(row.cells[number], own, column) for row in rows}
            yield Standing(column, leads)


def main_row(table: Table) -> Row | None:
    return next((row for row in table.rows if row.label.main), None)


def rivals(table: Table) -> list[Row]:
    """The methods beside BISON, each by the reading that is compared with the paper.

    FINE-TUNE, the reference, is not one of them.
    """
    labels = [(row, row.label) for row in table.rows]
    return [row for row, one in labels if not (one.main or one.reference or one.superseded)]


def other_readings(table: Table) -> list[str]:
    """Where a method is ahead of BISON by the reading that is not compared with the paper."""
    main = main_row(table)
    if main is None:
        return []
    found = []
    for row in (row for row in table.rows if row.label.superseded):
        cells = zip(table.columns, row.cells, main.cells, strict=True)
        leads = [(column, Lead.over(cell, own, column)) for column, cell, own in cells]
        both = [(column, lead) for column, lead in leads if lead.seeds]
        ahead = [
            f"{cell_name(column)} by {-lead.points:.1f} (n = {lead.seeds})"
            for column, lead in both
            if lead.points < 0
        ]
        if both:
            where = f": {', '.join(ahead)}" if ahead else ""
            found.append(
                f"By its other reading (READINGS.md) {row.label.text} is ahead of BISON in "
                f"{len(ahead)} of {len(both)} cells{where}."
            )
    return found
