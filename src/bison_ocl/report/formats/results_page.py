"""RESULTS.md: claims, runs, every table and figure."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bison_ocl.errors import plural
from bison_ocl.experiments.records.record import Record
from bison_ocl.report.claims.claims import claims
from bison_ocl.report.figures import Saved
from bison_ocl.report.formats.markdown import escaped, grid, listed, markdown
from bison_ocl.report.study import names
from bison_ocl.report.study.entry import Entry, by_own_rule
from bison_ocl.report.study.study import Study, short, trained_once
from bison_ocl.report.tables.build import title_of
from bison_ocl.report.tables.table import Table


def results_page(
    study: Study,
    tables: Mapping[str, Sequence[Table]],
    figures: Mapping[str, Saved],
    folder: Path,
    with_page: bool,
    formats: Collection[str],
) -> str:
    """RESULTS.md; `folder` is where it will be written, so that links are relative to it."""
    page = " [report.html](report.html) is the interactive version." if with_page else ""
    trained = {item: by_own_rule(records) for item, records in study.items.items()}
    facts = [map(escaped, item_facts(item, runs)) for item, runs in trained.items()]
    parts = [
        "# Results",
        f"Written by `bison-ocl report` from the records of each item.{page}",
        *claims(study, tables),
        "## What was run",
        listed(run_facts(trained_once(trained))),
        grid(("item", "title", "runs", "methods", "data", "seeds"), facts),
        *(["## Notes", listed(study.warnings)] if study.warnings else []),
    ]
    for item in study.items:
        parts.append(f"## {escaped(title_of(item))}")
        for table in tables[item]:
            title = table.title.removeprefix(f"{title_of(item)}: ")
            parts += [f"### {escaped(title)}"] * (title != title_of(item))
            parts.append(markdown(table))
            parts += others(f"tables/{table.name}", formats, "tex", "csv")
        for path in figures[item].files:
            if path.suffix == ".png":
                parts += shown(Path(os.path.relpath(path, folder)), formats)
        parts += [listed(figures[item].missing)] if figures[item].missing else []
    return "\n\n".join(parts) + "\n"


def run_facts(runs: Sequence[Record]) -> list[str]:
    """Time, hardware, versions and commits."""
    places = [record.environment for record in runs]
    seconds = sum(record.timing.total_s for record in runs)
    versions = [place.bison_ocl for place in places]
    package = f"; bison-ocl {counted(versions)}" if all(versions) else ""  # not installed: commits
    return [
        f"{plural(len(runs), 'run')}, {span(seconds)} of training and tests",
        f"hardware: {counted(place.device for place in places)}",
        f"precision: {counted(record.precision for record in runs)}",
        f"torch {counted(place.torch for place in places)}; "
        f"Python {counted(place.python for place in places)}" + package,
        f"commit {counted(short(record.commit or 'unknown') for record in runs)}",
    ]


def item_facts(item: str, runs: Sequence[Entry]) -> list[str]:
    methods = dict.fromkeys(names.name_of(record) for record in runs)
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
    return (
        plural(round(seconds / 60), "minute") if seconds < 7200 else f"{seconds / 3600:.1f} hours"
    )


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


def others(base: str, formats: Collection[str], *kinds: str) -> list[str]:
    """Links to the same in other formats."""
    links = [f"[{kind}]({quote(base)}.{kind})" for kind in kinds if kind in formats]
    return [f"Also as {', '.join(links)}."] if links else []


def shown(path: Path, formats: Collection[str]) -> list[str]:
    """A figure, with links to its other formats."""
    picture = f"![{escaped(path.stem)}]({quote(path.as_posix())})"
    return [picture, *others(path.with_suffix("").as_posix(), formats, "svg", "pdf")]
