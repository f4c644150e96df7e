"""What all formats print of a table: its numbers as text, and what its marks mean."""

from __future__ import annotations

from collections import Counter

from bison_ocl.report.study.names import CATEGORIES
from bison_ocl.report.tables.cells import CLOSE, LEVEL, NEAR, Cell, Column, Table
from bison_ocl.report.tables.marks import least_seeds


def ours(cell: Cell, column: Column, plus_minus: str = " ± ") -> str:
    """`26.3 ± 1.0`, for AI `5.3 ± 0.8 / 9.7`; `–` for a missing cell."""
    if cell.ours is None:
        return "–"
    return numbers(cell.ours.mean, cell.ours.std, column, plus_minus) + (
        "" if cell.over_tasks is None else f" / {cell.over_tasks:.1f}"
    )


def paper(cell: Cell, column: Column, plus_minus: str = " ± ") -> str:
    if cell.paper is None:
        return ""
    return numbers(cell.paper.mean, cell.paper.std, column, plus_minus)


def numbers(mean: float, std: float | None, column: Column, plus_minus: str) -> str:
    decimals = column.measure.decimals
    return f"{mean:z.{decimals}f}" + ("" if std is None else f"{plus_minus}{std:.{decimals}f}")


def difference(cell: Cell, column: Column) -> str:
    return "" if cell.difference is None else f"{cell.difference:+z.{column.measure.decimals}f}"


def count(cell: Cell, table: Table) -> str:
    """`(10)`, or `(3 of 10)` where runs are missing; nothing for a missing cell."""
    if cell.ours is None:
        return ""
    short = table.planned is not None and cell.ours.n < table.planned
    return f"({cell.ours.n} of {table.planned})" if short else f"({cell.ours.n})"


def headed(column: Column) -> str:
    """The label with its unit, where that is not percent."""
    return column.label + (
        f" ({column.measure.unit})" if column.measure.unit not in ("%", "") else ""
    )


def usual_runs(table: Table) -> int:
    """Of how many runs most cells are."""
    counts = Counter(cell.ours.n for cell in table.cells if cell.ours)
    return counts.most_common(1)[0][0] if counts else 0


def told_runs(table: Table) -> str:
    """Of how many runs the cells are, in one word for all but those that differ."""
    usual = usual_runs(table)
    if not usual:
        return "over runs"
    short = f" of {table.planned}" if table.planned and usual < table.planned else ""
    odd = any(cell.ours and cell.ours.n != usual for cell in table.cells)
    runs = "run" if usual == 1 and not short else "runs"
    return f"over {usual}{short} {runs}" + ", or the number in brackets" * odd


def legend(
    table: Table, ranks: str, sizes: tuple[str, str, str], told_once: bool = False
) -> list[str]:
    """What marks and numbers mean, as far as the table has them.

    ranks: how the format shows best and runner-up; sizes: how it shows what is close, near and far;
    told_once: whether it tells the number of runs here, not in each cell.
    """
    cells = table.cells
    units = {column.measure.unit for column in table.columns}
    runs = told_runs(table) if told_once else "over runs (their number)"
    said = [f"mean ± standard deviation {runs}" + (", percent" if "%" in units else "")]
    if any(cell.over_tasks is not None for cell in cells):
        said.append("AI: the first ± is over runs, the second over tasks, as the paper's is")
    if any(table.compared(number) for number in range(len(table.columns))):
        said.append(f"paper: as printed; Δ: ours less the paper's{judged(table, sizes)}")
    if table.kinds and table.category == "kind":
        said.append("; ".join(f"{sign}: {meaning}" for sign, meaning in CATEGORIES.items()))
    if any(cell.ours is None for cell in cells):
        said.append("–: missing")
    if any(cell.rank for cell in cells):
        said.append(ranks)
    if any(cell.p is not None for cell in cells):
        main = next((f"“{line.label.text}”" for line in table.lines if line.label.main), "the best")
        said.append(
            f"*: differs from {main}, p < {LEVEL} (paired sign-flip test over common seeds, "
            f"Holm over the column; it takes {least_seeds(table)} seeds to show a difference)"
        )
    return [*said, *table.notes]


def judged(table: Table, sizes: tuple[str, str, str]) -> str:
    """What the colours of differences mean, where some have one."""
    units = {
        column.measure.unit
        for number, column in enumerate(table.columns)
        if table.compared(number) and column.measure.unit in ("%", "")
    }
    if not units:
        return ""
    close, near, far = sizes
    unit = "point" if "%" in units else "percent"
    return f"; {close} up to {CLOSE:g} {unit}, {near} up to {NEAR:g}, {far} beyond"
