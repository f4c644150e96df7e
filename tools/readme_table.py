"""Write the README's table of all methods, AA here and in the paper, between its two marks.

PYTHONPATH=src python tools/readme_table.py
"""

from __future__ import annotations

from pathlib import Path

from bison_ocl.experiments.plan.paper import C10, C100, ITEMS, MEMORIES, MINI
from bison_ocl.report.study.study import load
from bison_ocl.report.tables.cells import Cell, Table
from bison_ocl.report.tables.layouts import tables

PROJECT = Path(__file__).parents[1]
BEGIN, END = "<!-- all methods -->\n", "<!-- end of all methods -->\n"
SHORT = {C10: "C10", C100: "C100", MINI: "Mini"}
NOT_RUN = "–"


def lines() -> list[str]:
    """Rows of Markdown: `ours / paper` in each cell, with n where it is not the paper's."""
    table = tables("table1", load(PROJECT / "results" / "table1").items["table1"])[0]
    order = [(data, memory) for data in (C10, C100, MINI) for memory in MEMORIES[data]]
    numbers = {(column.place[0], column.place[3]): n for n, column in enumerate(table.columns)}
    head = ["method", *(f"{SHORT[data]} {memory / 1000:g}k" for data, memory in order)]
    rows = [head, ["---", *["---:"] * len(order)], *body(table, [numbers[one] for one in order])]
    return [f"| {' | '.join(row)} |" for row in rows]


def body(table: Table, numbers: list[int]) -> list[list[str]]:
    return [
        [
            f"**{line.label.text}**" if line.label.main else line.label.text.replace("_", r"\_"),
            *(shown(line.cells[number]) for number in numbers),
        ]
        for line in table.lines
    ]


def shown(cell: Cell) -> str:
    """`51.4 / 52.5`, `58.9 (5) / 46.9` where fewer seeds were run."""
    paper = f"{cell.paper.mean:.1f}" if cell.paper else NOT_RUN
    if cell.ours is None:
        return f"{NOT_RUN} / {paper}"
    short = f" ({cell.ours.n})" if cell.ours.n < ITEMS["table1"].seeds else ""
    return f"{cell.ours.mean:.1f}{short} / {paper}"


def written(readme: str) -> str:
    """The README with the table of the records."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n".join(lines()) + "\n" + END + after


def main() -> None:
    path = PROJECT / "README.md"
    path.write_text(written(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
