"""RESULTS.md: what was run on what, every table and figure, readable on its own."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bison_ocl.report.figures import Saved
from bison_ocl.report.formats.markdown import escaped, markdown, row
from bison_ocl.report.study import names
from bison_ocl.report.study.entry import Entry, own
from bison_ocl.report.study.study import Study, plural, short
from bison_ocl.report.tables.build import title_of
from bison_ocl.report.tables.cells import Table
from bison_ocl.report.tables.claims import in_short


def summary(
    study: Study,
    tables: Mapping[str, Sequence[Table]],
    figures: Mapping[str, Saved],
    folder: Path,
    with_page: bool,
    formats: Collection[str],
) -> str:
    """The page; `folder` is where it will stand, so that links are relative to it."""
    same = " [report.html](report.html) shows the same interactively." if with_page else ""
    runs = [record for records in study.items.values() for record in own(records)]
    parts = [
        "# Results",
        f"Written by `bison-ocl report` from the records of each item.{same}",
        *in_short(study, tables),
        "## What was run",
        listed(run_facts(runs)),
        grid(
            ("item", "what", "runs", "methods", "data", "seeds"),
            [item_facts(item, own(records)) for item, records in study.items.items()],
        ),
        *(["## To know", listed(study.warnings)] if study.warnings else []),
    ]
    for item in study.items:
        parts.append(f"## {escaped(title_of(item))}")
        for table in tables[item]:
            title = table.title.removeprefix(f"{title_of(item)}: ")
            parts += [f"### {escaped(title)}"] * (len(tables[item]) > 1)
            parts.append(markdown(table))
            parts += others(
                f"tables/{table.name}", [one for one in ("tex", "csv") if one in formats]
            )
        for path in figures[item].files:
            if path.suffix == ".png":
                parts += shown(Path(os.path.relpath(path, folder)), formats)
        parts += [listed(figures[item].missing)] if figures[item].missing else []
    return "\n\n".join(parts) + "\n"


def run_facts(runs: Sequence[Entry]) -> list[str]:
    """Where the numbers come from."""
    places = [record.environment for record in runs]
    seconds = sum(record.timing.total_s for record in runs)
    return [
        f"{plural(len(runs), 'run')}, {span(seconds)} of training and tests",
        f"hardware: {counted(place.device for place in places)}",
        f"precision: {counted(record.precision for record in runs)}",
        f"torch {counted(place.torch for place in places)}; "
        f"Python {counted(place.python for place in places)}; "
        f"bison-ocl {counted(place.bison_ocl for place in places)}",
        f"commit {counted(short(record.commit or 'unknown') for record in runs)}",
    ]


def item_facts(item: str, runs: Sequence[Entry]) -> list[str]:
    methods = dict.fromkeys(
        names.method_name(record.method, record.method_title) for record in runs
    )
    data = dict.fromkeys(names.stream_name(record) for record in runs)
    return [
        item,
        title_of(item),
        str(len(runs)),
        ", ".join(methods),
        "; ".join(data),
        ranges({record.seed for record in runs}),
    ]


def span(seconds: float) -> str:
    """`12 minutes`, `3.4 hours`."""
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


def counted(values: Iterable[Any]) -> str:
    """`a`, or `a (3), b (1)` where values differ."""
    counts = Counter(str(value or "unknown") for value in values)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{value} ({n})" for value, n in counts.most_common())


def ranges(numbers: Iterable[int]) -> str:
    """`0-9, 12`."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1] = [found[-1][0], number]
        else:
            found.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def listed(texts: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(text)}" for text in texts)


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([escaped(cell) for cell in line] for line in rows)]
    return "\n".join(map(row, lines))


def others(base: str, formats: Sequence[str]) -> list[str]:
    """Links to the same in other formats."""
    links = (f"[{kind}]({quote(base)}.{kind})" for kind in formats)
    return [f"As {', '.join(links)}."] if formats else []


def shown(path: Path, formats: Collection[str]) -> list[str]:
    """A figure, with links to its other formats."""
    base = path.with_name(path.stem)
    kinds = [kind for kind in ("svg", "pdf") if kind in formats]
    return [f"![{escaped(path.stem)}]({quote(path.as_posix())})", *others(base.as_posix(), kinds)]
