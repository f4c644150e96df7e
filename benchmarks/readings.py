"""Table of the readings of the paper: three metrics of each, compared with the paper's.

    PYTHONPATH=src python -m benchmarks.readings [--paste docs/READINGS.md] FILE.jsonl ...

A line is a cell, a method and what differs from its settings. The distance is |ΔAA| + |ΔAF_table| +
|ΔAI| to the paper; the nearest reading of a method and cell is bold. AI is against the FINE-TUNE
runs of the same streams. With --paste the table goes between that file's two marks.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

from bison_ocl.experiments.plan.paper import REFERENCE
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.records.results import read_complete
from bison_ocl.experiments.records.spec import own_name
from bison_ocl.report.study.entry import Entry, prepared
from bison_ocl.report.study.names import variant
from bison_ocl.report.study.paper import published
from bison_ocl.stream.streams import DEFAULT

METRICS = ("AA", "AF_table", "AI")
MARKS = "<!-- readings -->\n", "<!-- end of readings -->"


class Reading(NamedTuple):
    """What was run: a cell, a method, and how it was read."""

    data: str
    memory: int
    method: str
    text: str


def reading_of(record: Entry) -> Reading:
    """bf16 and the usual stream go without saying."""
    precision, stream = record.precision, record.stream
    said = (
        variant(replace(record, mixed_precision=False)),
        precision if precision != "bf16" else "",
        stream if stream != DEFAULT else "",
        f"by {record.rule}" if record.rule else "",
    )
    return Reading(
        record.data, record.memory, own_name(record.method), ", ".join(filter(None, said))
    )


def groups(records: Sequence[Record]) -> dict[Reading, list[Entry]]:
    """Runs by reading. NCM rules are readings of methods that predict so anyway."""
    found: dict[Reading, list[Entry]] = {}
    for record in prepared(records):
        by_ncm = "ncm_normalise" in record.settings
        if record.rule is None or (by_ncm and record.rule == "ncm-raw"):
            found.setdefault(reading_of(record), []).append(record)
    return found


def numbers(runs: Sequence[Entry], metric: str) -> list[float]:
    return [100 * value for run in runs if (value := getattr(run.metrics, metric)) is not None]


def distance(reading: Reading, runs: Sequence[Entry]) -> float | None:
    """To the paper's three means; None where one of them is unknown."""
    total = 0.0
    for metric in METRICS:
        paper = published("table1", metric, reading.method, reading.data, reading.memory)
        found = numbers(runs, metric)
        if reading.method == REFERENCE and metric == "AI":
            continue  # zero by definition
        if paper is None or not found:
            return None
        total += abs(mean(found) - paper.mean)
    return total


def printed(reading: Reading) -> str:
    found = [
        published("table1", metric, reading.method, reading.data, reading.memory)
        for metric in METRICS
    ]
    return " / ".join("–" if one is None else f"{one.mean:.1f}" for one in found)


def measured(runs: Sequence[Entry]) -> str:
    found = [numbers(runs, metric) for metric in METRICS]
    spread = f" ± {stdev(found[0]):.1f}" if len(found[0]) > 1 else ""
    means = [f"{mean(values):.1f}" if values else "–" for values in found]
    return f"{means[0]}{spread} / {means[1]} / {means[2]}"


def lines(records: Sequence[Record]) -> Iterator[str]:
    """The table in Markdown."""
    yield "| cell | method | reading | n | AA ± std / AF_table / AI | paper | distance |"
    yield "|---|---|---|---|---|---|---|"
    found = groups(records)
    nearest: dict[tuple[str, int, str], float] = {}
    for reading, runs in found.items():
        if (far := distance(reading, runs)) is not None:
            nearest[reading[:3]] = min(far, nearest.get(reading[:3], far))
    for reading in sorted(found, key=lambda reading: (reading[:3], len(reading.text))):
        runs = found[reading]
        far = distance(reading, runs)
        text = "–" if far is None else f"{far:.1f}"
        text = f"**{text}**" if far is not None and far == nearest[reading[:3]] else text
        cell = f"{reading.data.removeprefix('split-')} {reading.memory}"
        yield (
            f"| {cell} | {reading.method} | {reading.text} | {len(runs)} | {measured(runs)} "
            f"| {printed(reading)} | {text} |"
        )


def paste(text: str, file: Path) -> None:
    """Between the marks."""
    before, after = file.read_text().split(MARKS[0])[0], file.read_text().split(MARKS[1])[1]
    file.write_text(before + MARKS[0] + text + MARKS[1] + after)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--paste", type=Path)
    arguments = parser.parse_args()
    records = [record for file in arguments.files for record in read_complete(file)]
    text = "\n".join(lines(records)) + "\n"
    print(text, end="")
    if arguments.paste:
        paste(text, arguments.paste)


if __name__ == "__main__":
    main()
