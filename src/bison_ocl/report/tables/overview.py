"""Records as a table: mean ± standard deviation over seeds, in percent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from bison_ocl.evaluate.metrics import (
    IntransigenceSpread,
    Spread,
    intransigence_spread,
    spread,
)
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.terminal.show import show_table
from bison_ocl.report.study import threads
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.study import prepared
from bison_ocl.stream.streams import DEFAULT


@dataclass(frozen=True)
class Row:
    """One method in one cell, over its seeds."""

    method: str
    data: str
    memory: int
    AA: Spread
    AF: Spread
    AF_table: Spread
    AI: IntransigenceSpread | None
    stream: str = DEFAULT
    A_AUC: Spread | None = None
    """anytime accuracy, where tasks share classes"""
    threads: str = ""


def rows(records: Sequence[Record], beside: Sequence[Record] = ()) -> list[Row]:
    """One row a cell, in order of appearance; of a run that was done twice, the later record."""
    groups: dict[str, dict[int, Entry]] = {}
    for record in prepared(records, beside):
        groups.setdefault(record.experiment, {})[record.seed] = record
    return [row(list(group.values())) for group in groups.values()]


def row(group: Sequence[Entry]) -> Row:
    first = group[0]
    pairs = [(one.accuracy, one.reference) for one in group if one.reference is not None]
    return Row(
        first.method,
        first.data,
        first.memory,
        AA=over(group, "AA"),
        AF=over(group, "AF"),
        AF_table=over(group, "AF_table"),
        AI=intransigence_spread(*zip(*pairs, strict=True)) if len(pairs) == len(group) else None,
        stream=first.stream,
        A_AUC=over(group, "A_AUC") if first.metrics.A_AUC is not None else None,
        threads=threads.listed(group),
    )


def over(group: Sequence[Entry], metric: str) -> Spread:
    """A metric over the runs of a group."""
    return spread([getattr(record.metrics, metric) for record in group])


def percent(mean: float, std: float | None) -> str:
    """`81.2 ± 1.3`; without ± for a single seed."""
    return f"{100 * mean:.1f}" + ("" if std is None else f" ± {100 * std:.1f}")


def ai_cell(line: Row) -> str:
    """AI ± over runs / ± over tasks: the paper's tables print the second."""
    if line.AI is None:
        return "–"
    mean, tasks = percent(line.AI.mean, line.AI.std_over_runs), line.AI.std_over_tasks
    return mean if tasks is None else f"{mean} / {100 * tasks:.1f}"


def table(lines: Sequence[Row]) -> Table:
    """AA ↑ is accuracy at the end; AF ↓ forgetting, in both conventions; AI ↓ intransigence.

    Where tasks share classes, A_AUC ↑ is accuracy on the way; the stream is shown if not the usual,
    and the number of threads where it differs, for results depend on it.
    """
    counted = len({number for line in lines for number in line.threads.split(", ")} - {""}) > 1
    streams = any(line.stream != DEFAULT for line in lines)
    anytime = any(line.A_AUC is not None for line in lines)
    found = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("method", "data", *["stream"] * streams, "memory", *["threads"] * counted):
        found.add_column(name, overflow="fold")
    for name in ("AA %", "AF %", "AF_table %", "AI % / tasks", *["A_AUC %"] * anytime, "n"):
        found.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        three = [percent(x.mean, x.std) for x in (line.AA, line.AF, line.AF_table)]
        ai = ai_cell(line)
        auc = "–" if line.A_AUC is None else percent(line.A_AUC.mean, line.A_AUC.std)
        cell = [line.method, line.data, *[line.stream] * streams, str(line.memory)]
        cell += [line.threads or "–"] * counted
        found.add_row(*cell, *three, ai, *[auc] * anytime, str(line.AA.n))
    return found


def show(lines: Sequence[Row]) -> None:
    """Print the table to standard output."""
    show_table(table(lines))
