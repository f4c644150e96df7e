"""The main table in plain sentences: how near to the paper it is, and whether its claims hold."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from bison_ocl.experiments.plan.paper import ITEMS, MINI
from bison_ocl.report.study.groups import Group, grouped, own
from bison_ocl.report.study.labels import MAIN_METHOD, READINGS
from bison_ocl.report.study.measures import AA
from bison_ocl.report.study.names import method_name
from bison_ocl.report.study.paper import MAIN_TABLE
from bison_ocl.report.study.study import Study
from bison_ocl.report.tables.cells import LEVEL, Cell, Column, Line, Table
from bison_ocl.report.tables.marks import against

Values = Mapping[Hashable, float]
"""A metric of runs in percent, by stream and seed, so that runs can be paired."""

NCM = "ncm"
SEEDS = ITEMS[MAIN_TABLE].seeds
"""of the paper, in each cell"""
COMPARED = ("AA", "AF_table", "AI")


@dataclass(frozen=True)
class Nearness:
    """A cell that was run beside the paper's."""

    line: Line
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
        place = f"{self.column.group}, {self.column.label}"
        errors = abs(self.difference) / self.error
        return f"{self.line.label.text}, {place}: {self.difference:+.1f} ({errors:.1f} errors)"


def in_short(study: Study, tables: Mapping[str, Sequence[Table]]) -> list[str]:
    """Paragraphs of Markdown; none where the main table was not run."""
    if MAIN_TABLE not in study.items:
        return []
    by_name = {table.columns[0].measure.name: table for table in tables[MAIN_TABLE]}
    near = {name: list(nearness(by_name[name])) for name in COMPARED if name in by_name}
    if len(near) < len(COMPARED) or not any(near.values()):
        return []
    claims = [best(by_name["AA"]), balance(by_name["AF_table"], by_name["AI"])]
    claims += [by_class_means(grouped(study.items[MAIN_TABLE])), parts(study, tables)]
    return ["## In short", counts(near), *outliers(near), *claims]


# --- how near ---


def nearness(table: Table) -> Iterator[Nearness]:
    """Every cell that was run and that the paper prints, each once."""
    read_otherwise = {method for method, _ in READINGS}
    for line in table.lines:
        superseded = line.label.printed in read_otherwise and not line.label.reading
        seen: set[str] = set()
        for column, cell in zip(table.columns, line.cells, strict=True):
            once = not line.label.reference or column.group not in seen  # it has no memory
            if cell.ours and cell.paper and once and not superseded:
                seen.add(column.group)
                yield Nearness(line, column, cell.ours.mean - cell.paper.mean, error(cell, column))


def error(cell: Cell, column: Column) -> float:
    """Standard error of ours less the paper's; where the paper prints none of runs, ours for both.

    The paper's ± of AI is over tasks.
    """
    assert cell.ours is not None
    assert cell.paper is not None
    std = cell.ours.std or 0.0
    theirs = std if cell.paper.std is None or column.measure.over_tasks else cell.paper.std
    return math.sqrt(std**2 / cell.ours.n + theirs**2 / SEEDS)


def counts(near: Mapping[str, Sequence[Nearness]]) -> str:
    """How many cells lie how near, by metric and dataset."""
    head = "| metric | data | cells run | ≤ 1 point | ≤ 2 | ≤ 3 | ≤ 2 s.e. | ≤ 3 points or 2 s.e. |"
    rows = [head, "|---|---|" + "---:|" * 6]
    for metric, cells in near.items():
        for name, mini in (("CIFAR", False), ("Mini-ImageNet", True)):
            some = [one for one in cells if (one.column.place[0] == MINI) == mini]
            within = [sum(abs(one.difference) <= points for one in some) for points in (1, 2, 3)]
            explained = sum(one.explained for one in some)
            near_enough = f"{sum(not one.far for one in some)} of {len(some)}"
            cells_of_row = [metric, name, len(some), *within, explained, near_enough]
            rows.append(f"| {' | '.join(map(str, cells_of_row))} |")
    told = (
        "Cells of the main table within so many points of the paper's mean, and within two "
        f"standard errors (s.e.) of the difference; the paper has {SEEDS} runs in each. OCM is "
        "compared by position (READINGS.md)."
    )
    return "\n".join([told, "", *rows])


def outliers(near: Mapping[str, Sequence[Nearness]]) -> list[str]:
    """Cells beyond three points and two standard errors."""
    found = [
        f"- {metric}: " + "; ".join(str(one) for one in cells if one.far)
        for metric, cells in near.items()
        if any(one.far for one in cells)
    ]
    told = "Beyond three points and two standard errors (READINGS.md says what was looked at):"
    return ["\n".join([told, "", *found])] if found else []


# --- claims ---


def best(table: Table) -> str:
    """Is BISON's accuracy the best?"""
    return standing(
        "**Is BISON best in AA?**",
        [
            (column_name(column), {line.label.text: line.cells[n].values for line in ran(table, n)})
            for n, column in enumerate(table.columns)
        ],
        higher=True,
    )


def balance(forgetting: Table, intransigence: Table) -> str:
    """Is its balance the best? The sum of both, lower is better."""
    fields = []
    for n, column in enumerate(forgetting.columns):
        sums: dict[str, Values] = {}
        for one, other in zip(forgetting.lines, intransigence.lines, strict=True):
            if one in ran(forgetting, n):
                a, b = one.cells[n].values, other.cells[n].values
                sums[one.label.text] = {key: a[key] + b[key] for key in a if key in b}
        fields.append((column_name(column), sums))
    question = "**Is its balance of forgetting and intransigence best (lowest AF_table + AI)?**"
    return standing(question, fields, higher=False)


def standing(question: str, fields: Sequence[tuple[str, dict[str, Values]]], higher: bool) -> str:
    """In how many places BISON is first, and by the paired test alone."""
    name, first, alone, others = method_name(MAIN_METHOD), 0, 0, []
    shown = [(place, by_line) for place, by_line in fields if name in by_line and len(by_line) > 1]
    for place, by_line in shown:
        means = {line: fmean(values.values()) for line, values in by_line.items() if values}
        leader = (max if higher else min)(means, key=means.__getitem__)
        first += leader == name
        rest = [line for line in by_line if line != name]
        tests = against(by_line[name], [by_line[line] for line in rest])
        tied = [line for line, p in zip(rest, tests, strict=True) if p is None or p >= LEVEL]
        alone += leader == name and not tied
        if leader != name:
            others.append(f"{place}: {leader} {means[leader]:.1f}, {name} {means[name]:.1f}")
        elif tied:
            others.append(f"{place}: first, but not significantly ahead of {', '.join(tied)}")
    told = f"First in {first} of {len(shown)} places with other methods, in {alone} of them ahead "
    told += f"of every other (p < {LEVEL}, paired sign-flip test over common seeds, Holm)."
    return "\n".join([f"{question} {told}", "", *(f"- {line}" for line in others)])


def by_class_means(groups: Sequence[Group]) -> str:
    """Does nearest class mean on the baselines' networks close the gap?"""
    values = {(group.method, group.place): group.values(AA.of) for group in groups}
    rows = []
    for method in dict.fromkeys(group.method for group in own(groups)):
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
            cells = [method_name(method), len(trios), f"{gain:+.1f}", f"{gap:+.1f}", ahead, clear]
            rows.append(f"| {' | '.join(map(str, cells))} |")
    question = "**Does nearest class mean on the baselines' networks close the gap?**"
    told = (
        "AA by class means less AA by the method's own rule, and BISON's lead over it, in points, "
        "mean over places; places where it reaches BISON; places where the two differ (p < "
        f"{LEVEL}, paired)."
    )
    head = "| method | places | gain | BISON's lead | reaches BISON | differs |"
    return "\n".join([f"{question} {told}", "", head, "|---|" + "---:|" * 5, *rows])


def parts(study: Study, tables: Mapping[str, Sequence[Table]]) -> str:
    """Do dual classifiers, proxy-anchor loss and alignment each help?"""
    question = "**Do dual classifiers, PAL and alignment each help?**"
    if "ablation" not in study.items:
        return f"{question} The ablation was not run."
    (table, *_) = tables["ablation"]
    number = next(n for n, column in enumerate(table.columns) if column.measure.name == "AA")
    cells = {line.label.text: line.cells[number] for line in ran(table, number)}
    told = [
        f"- {name}: AA {cell.ours.mean:.1f}" + (f" (p = {cell.p:.3f})" if cell.p else "")
        for name, cell in cells.items()
        if cell.ours
    ]
    return "\n".join([f"{question} Against BISON, paired:", "", *told])


def ran(table: Table, number: int) -> list[Line]:
    """The methods of a column that were run; FINE-TUNE, the reference, is not one of them."""
    return [line for line in table.lines if line.cells[number].ours and not line.label.reference]


def column_name(column: Column) -> str:
    return f"{column.group}, {column.label}"
