"""The main table in sentences: how near to the paper it is, and whether the paper's claims hold."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from bison_ocl.experiments.plan.paper import ITEMS, MINI
from bison_ocl.report.formats.markdown import grid
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.experiments import Experiment, by_own_rule, experiments
from bison_ocl.report.study.labels import MAIN_METHOD
from bison_ocl.report.study.measures import AA, AF_TABLE, AI, Measure
from bison_ocl.report.study.paper import MAIN_TABLE
from bison_ocl.report.study.study import Study
from bison_ocl.report.tables.build import by_memory
from bison_ocl.report.tables.marks import against, testable
from bison_ocl.report.tables.table import LEVEL, Column, Comparison, Row, Table

BALANCED = "**Is its balance of forgetting and intransigence best (lowest AF_table + AI)?**"
NCM = "ncm"
SEEDS = ITEMS[MAIN_TABLE].seeds
"""of the paper, in each cell"""
COMPARED = ("AA", "AF_table", "AI")
Values = Mapping[Hashable, float]
"""by stream and seed"""


def lost(record: Entry) -> float | None:
    """Forgetting and intransigence together, in percent."""
    forgetting, intransigence = AF_TABLE.of(record), AI.of(record)
    if forgetting is None or intransigence is None:
        return None
    return forgetting + intransigence


SUM = Measure("AF_table + AI", "AF_table + AI", lost, "lower")


@dataclass(frozen=True)
class Distance:
    """The distance of a cell from the paper's."""

    row: Row
    column: Column
    difference: float
    error: float
    """standard error of the difference"""

    @property
    def explained(self) -> bool:
        return abs(self.difference) <= 2 * self.error

    @property
    def far(self) -> bool:
        return abs(self.difference) > 3 and not self.explained

    def __str__(self) -> str:
        errors = abs(self.difference) / self.error
        where = f"{self.row.label.text}, {cell_name(self.column)}"
        return f"{where}: {self.difference:+.1f} ({errors:.1f} s.e.)"


def claims(study: Study, tables: Mapping[str, Sequence[Table]]) -> list[str]:
    """Paragraphs of Markdown; none where the main table was not run."""
    if MAIN_TABLE not in study.items:
        return []
    by_name = {table.columns[0].measure.name: table for table in tables[MAIN_TABLE]}
    near = {name: list(distances(by_name[name])) for name in COMPARED if name in by_name}
    if len(near) < len(COMPARED) or not any(near.values()):
        return []
    found = experiments(MAIN_TABLE, study.items[MAIN_TABLE])
    balance = by_memory(MAIN_TABLE, by_own_rule(found), SUM)
    return [
        "## In short",
        counts(near),
        *outliers(near),
        first_places("**Is BISON best in AA?**", by_name["AA"]),
        *other_readings(by_name["AA"]),
        first_places(BALANCED, balance),
        *other_readings(balance),
        by_class_means(found),
        parts(tables.get("ablation", ())),
    ]


# --- how near ---


def distances(table: Table) -> Iterator[Distance]:
    """Every cell that was run and that the paper prints, each once."""
    for row in table.rows:
        seen: set[str] = set()
        for column, cell in zip(table.columns, row.cells, strict=True):
            once = not row.label.reference or column.block not in seen  # it has no memory
            if cell.difference is not None and once and not row.label.superseded:
                seen.add(column.block)
                yield Distance(row, column, cell.difference, standard_error(cell, column))


def standard_error(cell: Comparison, column: Column) -> float:
    """Of ours minus the paper's; where the paper prints no deviation over runs, ours for both.

    The paper's deviation of AI is over tasks.
    """
    assert cell.ours is not None
    assert cell.paper is not None
    std = cell.ours.std or 0.0
    theirs = std if cell.paper.std is None or column.measure.over_tasks else cell.paper.std
    return math.sqrt(std**2 / cell.ours.n + theirs**2 / SEEDS)


def counts(near: Mapping[str, Sequence[Distance]]) -> str:
    """The number of cells by distance, metric and dataset."""
    rows = []
    for metric, cells in near.items():
        for name, mini in (("CIFAR", False), ("Mini-ImageNet", True)):
            some = [one for one in cells if (one.column.place[0] == MINI) == mini]
            within = [sum(abs(one.difference) <= points for one in some) for points in (1, 2, 3)]
            explained = sum(one.explained for one in some)
            near_enough = f"{sum(not one.far for one in some)} of {len(some)}"
            rows.append([metric, name, len(some), *within, explained, near_enough])
    head = ["metric", "data", "cells run", "≤ 1 point", "≤ 2", "≤ 3", "≤ 2 s.e."]
    text = (
        "Cells of the main table whose mean lies within 1, 2 or 3 points of the paper's, or within "
        f"two standard errors (s.e.) of the difference. The paper has {SEEDS} runs per cell. OCM "
        "is the reading by position (READINGS.md)."
    )
    return f"{text}\n\n{grid([*head, '≤ 3 points or 2 s.e.'], in_text(rows), numbers=6)}"


def in_text(rows: Sequence[Sequence[object]]) -> list[list[str]]:
    return [[str(cell) for cell in row] for row in rows]


def outliers(near: Mapping[str, Sequence[Distance]]) -> list[str]:
    """Cells beyond three points and two standard errors."""
    found = [
        f"- {metric}: " + "; ".join(str(one) for one in cells if one.far)
        for metric, cells in near.items()
        if any(one.far for one in cells)
    ]
    head = "Cells beyond three points and two standard errors (READINGS.md lists what we tried):"
    return ["\n".join([head, "", *found])] if found else []


# --- claims ---


def first_places(question: str, table: Table) -> str:
    """The number of cells in which BISON is first, and significantly so; the others by name.

    Methods are compared on the seeds that both have.
    """
    cells = first = alone = 0
    others = []
    for n, column in enumerate(table.columns):
        main = next((row for row in ran(table, n) if row.label.main), None)
        rivals = {row.label.text: row.cells[n] for row in ran(table, n) if row is not main}
        if main is None or not rivals:
            continue
        leads = {text: Lead.of(cell, main.cells[n], column) for text, cell in rivals.items()}
        ahead = [f"{text} {lead}" for text, lead in leads.items() if lead.points > 0]
        few = [text for text, lead in leads.items() if not testable(lead.seeds)]
        unclear = [text for text in rivals if text not in few and not rivals[text].differs]
        cells += 1
        first += not ahead
        alone += not ahead and len(few) < len(rivals) and not unclear
        reasons = [f"not significantly ahead of {', '.join(unclear)}"] * bool(unclear)
        reasons += [f"too few common seeds for a test against {', '.join(few)}"] * bool(few)
        if ahead or reasons:
            place = f"behind {', '.join(ahead)}" if ahead else "first"
            line = ", ".join([place, *([" and ".join(reasons)] if reasons else [])])
            others.append(f"- {cell_name(column)}: {line}")
    answer = (
        f"First in {first} of {cells} cells; in {alone} of them significantly ahead of every "
        f"method with enough common seeds (p < {LEVEL}, paired sign-flip test, corrected by Holm)."
    )
    return "\n".join([f"{question} {answer}", "", *others])


@dataclass(frozen=True)
class Lead:
    """How far a method is ahead of BISON, on the seeds that both have."""

    points: float
    seeds: int

    @classmethod
    def of(cls, cell: Comparison, main: Comparison, column: Column) -> Lead:
        shared = cell.values.keys() & main.values.keys()
        sign = 1 if column.measure.better == "higher" else -1
        differences = [sign * (cell.values[seed] - main.values[seed]) for seed in shared]
        return cls(fmean(differences) if differences else 0.0, len(shared))

    def __str__(self) -> str:
        return f"by {self.points:.1f} points (n = {self.seeds})"


def other_readings(table: Table) -> list[str]:
    """Where a method is ahead of BISON by the reading that is not compared with the paper."""
    return [line for row in table.rows if row.label.superseded for line in above_main(table, row)]


def above_main(table: Table, row: Row) -> list[str]:
    """A sentence on the cells where a line is ahead of BISON on the seeds that both have."""
    main = next((one for one in table.rows if one.label.main), None)
    cells = zip(table.columns, row.cells, main.cells if main else (), strict=False)
    leads = {cell_name(column): Lead.of(own, best, column) for column, own, best in cells}
    ran_both = {name: lead for name, lead in leads.items() if lead.seeds}
    above = [f"{name}: {lead}" for name, lead in ran_both.items() if lead.points > 0]
    return [
        f"By its other reading (READINGS.md) {row.label.text} is ahead of BISON in {len(above)} of "
        f"{len(ran_both)} cells, on the seeds that both have. " + "; ".join(above)
    ] * bool(ran_both)


def by_class_means(found: Sequence[Experiment]) -> str:
    """Does nearest class mean on the baselines' networks close the gap?"""
    values = {(one.method, one.label.superseded, one.place): one.values(AA.of) for one in found}
    rows = []
    for line in {one.title: one for one in by_own_rule(found)}.values():
        trios = []
        for place in dict.fromkeys(one.place for one in found):
            own = values.get((line.method, line.label.superseded, place), {})
            means = values.get((f"{line.method} + {NCM}", line.label.superseded, place), {})
            main = values.get((MAIN_METHOD, False, place), {})
            if means.keys() & main.keys():
                trios.append((own, means, main))
        if trios:
            rows.append([line.title, *map(str, class_means(trios))])
    text = (
        "**Does nearest class mean on the baselines' networks close the gap?** Gain: AA by nearest "
        "class mean minus AA by the method's own rule. Lead: AA of BISON minus AA by nearest class "
        "mean, on the seeds that both have. Both are means over cells, in points. The last two "
        "columns count the cells where nearest class mean reaches BISON, and where the two differ "
        f"(p < {LEVEL}, paired, not corrected), of those with enough common seeds for a test."
    )
    head = ("method", "cells", "gain", "BISON's lead", "reaches BISON", "differs")
    return f"{text}\n\n{grid(head, rows, numbers=5)}"


def class_means(trios: Sequence[tuple[Values, Values, Values]]) -> tuple[int, str, str, int, str]:
    """A row of the table on class means, from AA by own rule, by class means, and of BISON."""
    gain = fmean(mean_difference(means, own) for own, means, _ in trios)
    leads = [mean_difference(main, means) for _, means, main in trios]
    reached = sum(lead <= 0 for lead in leads)
    able = [pair for _, *pair in trios if testable(len(pair[0].keys() & pair[1].keys()))]
    tests = [against(main, [means])[0] for means, main in able]
    differ = sum(p is not None and p < LEVEL for p in tests)
    lead = f"{fmean(leads):+.1f}"
    return len(trios), f"{gain:+.1f}", lead, reached, f"{differ} of {len(able)}"


def mean_difference(one: Values, other: Values) -> float:
    """Over the runs that both have."""
    return fmean(one[run] - other[run] for run in one.keys() & other.keys())


def parts(ablation: Sequence[Table]) -> str:
    """Do dual classifiers, proxy-anchor loss and alignment each help?"""
    question = "**Do dual classifiers, PAL and alignment each help?**"
    if not ablation:
        return f"{question} The ablation was not run."
    table = ablation[0]
    number = next(n for n, column in enumerate(table.columns) if column.measure.name == "AA")
    lines = [
        f"- {row.label.text}: AA {cell.ours.mean:.1f}" + (f" (p = {cell.p:.3f})" if cell.p else "")
        for row in ran(table, number)
        if (cell := row.cells[number]).ours
    ]
    return "\n".join([f"{question} Paired tests against BISON:", "", *lines])


def ran(table: Table, number: int) -> list[Row]:
    """The methods of a column that were run, each by the reading that is compared with the paper.

    FINE-TUNE, the reference, is not one of them.
    """
    rows = [row for row in table.rows if row.cells[number].ours]
    return [row for row in rows if not row.label.reference and not row.label.superseded]


def cell_name(column: Column) -> str:
    return f"{column.block}, {column.label}"
