"""The main table in sentences: how near to the paper it is, and whether the paper's claims hold."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from bison_ocl.experiments.plan.paper import ITEMS, MINI
from bison_ocl.report.formats.markdown import grid
from bison_ocl.report.study.experiments import Experiment, experiments, own
from bison_ocl.report.study.labels import MAIN_METHOD, READINGS
from bison_ocl.report.study.measures import AA
from bison_ocl.report.study.names import method_name
from bison_ocl.report.study.paper import MAIN_TABLE
from bison_ocl.report.study.study import Study
from bison_ocl.report.tables.marks import against, testable
from bison_ocl.report.tables.table import LEVEL, Column, Comparison, Row, Table

Values = Mapping[Hashable, float]
"""A metric of runs in percent, by stream and seed, for paired tests."""

NCM = "ncm"
SEEDS = ITEMS[MAIN_TABLE].seeds
"""of the paper, in each cell"""
COMPARED = ("AA", "AF_table", "AI")


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
    return [
        "## In short",
        counts(near),
        *outliers(near),
        best(by_name["AA"]),
        balance(by_name["AF_table"], by_name["AI"]),
        by_class_means(experiments(MAIN_TABLE, study.items[MAIN_TABLE])),
        parts(tables.get("ablation", ())),
    ]


# --- how near ---


def distances(table: Table) -> Iterator[Distance]:
    """Every cell that was run and that the paper prints, each once."""
    other_reading = {method for method, _ in READINGS}
    for row in table.rows:
        superseded = row.label.printed in other_reading and not row.label.reading
        seen: set[str] = set()
        for column, cell in zip(table.columns, row.cells, strict=True):
            once = not row.label.reference or column.block not in seen  # it has no memory
            if cell.difference is not None and once and not superseded:
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


def best(table: Table) -> str:
    """Is BISON's accuracy the best?"""
    fields = {
        cell_name(column): {row.label.text: row.cells[n].values for row in ran(table, n)}
        for n, column in enumerate(table.columns)
    }
    return standing("**Is BISON best in AA?**", fields, higher=True)


def balance(forgetting: Table, intransigence: Table) -> str:
    """Is its balance the best? The sum of both, lower is better."""
    fields: dict[str, dict[str, Values]] = {}
    for n, column in enumerate(forgetting.columns):
        sums = fields.setdefault(cell_name(column), {})
        for one, other in zip(forgetting.rows, intransigence.rows, strict=True):
            if one in ran(forgetting, n):
                a, b = one.cells[n].values, other.cells[n].values
                sums[one.label.text] = {key: a[key] + b[key] for key in a if key in b}
    question = "**Is its balance of forgetting and intransigence best (lowest AF_table + AI)?**"
    return standing(question, fields, higher=False)


def standing(question: str, fields: Mapping[str, Mapping[str, Values]], higher: bool) -> str:
    """The number of cells in which BISON is first, and significantly so; the others by name."""
    name, first, alone, others = method_name(MAIN_METHOD), 0, 0, []
    shown = {cell: lines for cell, lines in fields.items() if name in lines and len(lines) > 1}
    for cell, lines in shown.items():
        means = {line: fmean(values.values()) for line, values in lines.items() if values}
        leader = (max if higher else min)(means, key=means.__getitem__)
        rest = [line for line in lines if line != name]
        tests = against(lines[name], [lines[line] for line in rest])
        few = [line for line in rest if not testable(len(lines[name].keys() & lines[line].keys()))]
        unclear = [line for line, p in zip(rest, tests, strict=True) if p is None or p >= LEVEL]
        tied = [line for line in unclear if line not in few]
        first += leader == name
        alone += leader == name and len(few) < len(rest) and not tied
        if leader != name:
            others.append(f"- {cell}: {leader} {means[leader]:.1f}, {name} {means[name]:.1f}")
        elif tied or few:
            reasons = [f"not significantly ahead of {', '.join(tied)}"] * bool(tied)
            reasons += [f"too few common seeds for a test against {', '.join(few)}"] * bool(few)
            others.append(f"- {cell}: first, {' and '.join(reasons)}")
    answer = (
        f"First in {first} of {len(shown)} cells; in {alone} of them significantly ahead of every "
        f"method with enough common seeds (p < {LEVEL}, paired sign-flip test, corrected by Holm)."
    )
    return "\n".join([f"{question} {answer}", "", *others])


def by_class_means(found: Sequence[Experiment]) -> str:
    """Does nearest class mean on the baselines' networks close the gap?"""
    values = {(one.method, one.place): one.values(AA.of) for one in found}
    rows = []
    for method in dict.fromkeys(one.method for one in own(found)):
        trios = [
            (values[method, place], rescored, values[MAIN_METHOD, place])
            for (name, place), rescored in values.items()
            if name == f"{method} + {NCM}" and (MAIN_METHOD, place) in values
        ]
        if trios:
            means = [[fmean(one.values()) for one in trio] for trio in trios]
            gain, gap = fmean(b - a for a, b, _ in means), fmean(c - b for _, b, c in means)
            ahead = sum(b >= c for _, b, c in means)
            tests = [against(ours, [theirs])[0] for _, theirs, ours in trios]
            clear = sum(p is not None and p < LEVEL for p in tests)
            name = method_name(method)
            rows.append([name, len(trios), f"{gain:+.1f}", f"{gap:+.1f}", ahead, clear])
    text = (
        "**Does nearest class mean on the baselines' networks close the gap?** Gain: AA by nearest "
        "class mean minus AA by the method's own rule. Lead: AA of BISON minus AA by nearest class "
        "mean. Both are means over cells, in points. The last two columns count the cells where "
        f"nearest class mean reaches BISON, and where the two differ (p < {LEVEL}, paired)."
    )
    head = ("method", "cells", "gain", "BISON's lead", "reaches BISON", "differs")
    return f"{text}\n\n{grid(head, in_text(rows), numbers=5)}"


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
    """The methods of a column that were run; FINE-TUNE, the reference, is not one of them."""
    return [row for row in table.rows if row.cells[number].ours and not row.label.reference]


def cell_name(column: Column) -> str:
    return f"{column.block}, {column.label}"
