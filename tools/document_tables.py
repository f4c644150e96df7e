"""Write tables of README.md, docs/BEYOND.md and docs/READINGS.md, each between its two marks.

python -m tools.document_tables
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

from tools.pilot_tables import (
    CELLS,
    MISSING,
    NOT_RUN,
    OURS,
    READOUTS,
    REVIEWS,
    ideas,
    readouts,
    rows,
)
from tools.when_learned import when_learned

from bison_ocl.errors import plural
from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.records.results import RESULTS, read
from bison_ocl.experiments.records.spec import under_rule
from bison_ocl.methods.bison_ald import BisonALD
from bison_ocl.report.formats.markdown import escaped, grid
from bison_ocl.report.study.names import method_name, place_name
from bison_ocl.report.study.study import load
from bison_ocl.report.tables.layouts import tables_of
from bison_ocl.report.tables.table import Comparison, Table

PROJECT = Path(__file__).parents[1]
RECORDS = PROJECT / "results"
COST = PROJECT / "benchmarks" / "beyond.json"
MAIN, BEYOND = "table1", "beyond"
WITHOUT_PARTS = "beyond-ablation"
BATCH = BisonALD.buffer_batch
PARTS = {
    "averaged weights, discriminant, mirror images": "ncm",
    "discriminant, mirror images": "averaged+ncm",
    "discriminant": "averaged+ncm-mirror",
    "mirror images": "averaged+ld",
}
"""What each readout of BISON-ALD leaves out."""
TRAINED_WITHOUT = {
    "one pass for stream and memory": (OURS, None, "`--set joint=false`"),
    "its batch, with BISON's instead": (
        "bison",
        "averaged+ld-mirror",
        "`bison --average 0.995 --set joint=true --also averaged+ld-mirror`",
    ),
}
"""The method and the readout of the networks that were trained without a part, and the command."""


def tables(item: str, results: Path) -> list[Table]:
    """The tables of an item's records; none where it has no record."""
    there = (results / item / RESULTS).exists()
    return tables_of(item, load(results / item).items[item]) if there else []


def by_cell(table: Table, shown: Callable[[Comparison], str]) -> str:
    """Rows of Markdown: one per method that was run, a column for each dataset and memory size."""
    places = [(column.place.data, column.place.memory) for column in table.columns]
    head = ["method", *(place_name(*cell) for cell in CELLS)]
    rows = []
    for row in table.rows:
        if not any(cell.ours for cell in row.cells):
            continue
        name = f"**{row.label.text}**" if row.label.main else escaped(row.label.text)
        ran = dict(zip(places, row.cells, strict=True))
        cells = [ran.get(one, Comparison()) for one in CELLS]
        rows.append([name, *map(shown, cells)])
    return grid(head, rows, numbers=len(CELLS))


def with_runs(cell: Comparison, item: str, decimals: int) -> str:
    """`58.9`, or `58.9 (5)` where fewer seeds were run than planned; `–` for none."""
    if cell.ours is None:
        return MISSING
    short = f" ({cell.ours.n})" if cell.ours.n < ITEMS[item].seeds else ""
    return f"{cell.ours.mean:.{decimals}f}{short}"


def ours_and_papers(cell: Comparison) -> str:
    """`51.4 / 52.5`."""
    paper = f"{cell.paper.mean:.1f}" if cell.paper else MISSING
    return f"{with_runs(cell, MAIN, 1)} / {paper}"


def ablation(accuracy: Table, results: Path) -> str:
    """BISON-ALD without some of its parts: points of AA, mean over the cells that were run."""
    cells = {row.label.text: row.cells for row in accuracy.rows}
    whole, rows = cells.get(method_name(OURS), ()), []
    for part, rule in PARTS.items():
        other = cells.get(method_name(under_rule(OURS, rule)), ())
        pairs = zip(whole, other, strict=False)
        lost = [b.ours.mean - a.ours.mean for a, b in pairs if a.ours and b.ours]
        rows.append([part, f"`--also {rule}`", points(lost)])
    return grid(("without", "command", "points of AA"), [*rows, *trained_without(results)])


def points(lost: Sequence[float]) -> str:
    return f"{fmean(lost):+.1f} ({plural(len(lost), 'cell')})" if lost else NOT_RUN


def trained_without(results: Path) -> Iterator[list[str]]:
    """Networks trained without a part, paired with BISON-ALD's of the same streams."""
    whole = {
        same_stream(one): one.metrics.AA
        for one in recorded(results / BEYOND)
        if one.method == OURS and one.settings["buffer_batch"] == BATCH
    }
    for part, (method, rule, command) in TRAINED_WITHOUT.items():
        cells: dict[tuple[str, int], list[float]] = {}
        for one in recorded(results / WITHOUT_PARTS):
            if one.method == method and same_stream(one) in whole:
                found = one.also[rule].metrics.AA if rule else one.metrics.AA
                difference = 100 * (found - whole[same_stream(one)])
                cells.setdefault((one.data, one.memory), []).append(difference)
        yield [part, command, points([fmean(cell) for cell in cells.values()])]


def recorded(folder: Path) -> list[Record]:
    return read(folder / RESULTS) if (folder / RESULTS).exists() else []


def same_stream(record: Record) -> tuple[str, int, int]:
    return record.data, record.memory, record.seed


def between(text: str, name: str, lines: Iterable[str]) -> str:
    """A document with other lines between its marks of a name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"the document has no marks {begin.strip()} and {end.strip()}")
    return before + begin + "\n".join(lines) + "\n" + end + after


def readme(text: str, results: Path = RECORDS) -> str:
    """README.md with the table of all methods."""
    return between(text, "all methods", [by_cell(tables(MAIN, results)[0], ours_and_papers)])


def cost() -> str:
    """What a step and an evaluation cost on an idle GPU, as multiples of BISON's."""
    rows = json.loads(COST.read_text("utf-8"))["over BISON"]
    cells = [
        [name, *(f"{row[what]:.2f}" for what in ("ms", "evaluation_s"))]
        for name, row in rows.items()
    ]
    return grid(("", "training step", "evaluation"), cells, numbers=2)


def beyond(text: str, results: Path = RECORDS) -> str:
    """docs/BEYOND.md with its tables."""
    pilots, reviews = rows(READOUTS), rows(REVIEWS)
    made = dict.fromkeys(("accuracy", "ablation"), NOT_RUN)
    made |= {"cost": cost(), "readouts": readouts(pilots), "ideas": ideas(pilots, reviews)}
    if found := tables(BEYOND, results):
        accuracy = found[0]  # runs beside each other have no time of their own
        made["accuracy"] = by_cell(accuracy, lambda cell: with_runs(cell, BEYOND, 1))
        made["ablation"] = ablation(accuracy, results)
    for name, lines in made.items():
        text = between(text, name, [lines])
    return text


def readings(text: str, results: Path = RECORDS) -> str:
    """docs/READINGS.md with its table of when tasks are learned."""
    return between(text, "when learned", [when_learned(recorded(results / MAIN))])


DOCUMENTS = {"README.md": readme, "docs/BEYOND.md": beyond, "docs/READINGS.md": readings}


def main() -> None:
    for name, written in DOCUMENTS.items():
        path = PROJECT / name
        path.write_text(written(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
