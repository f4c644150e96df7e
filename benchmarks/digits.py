"""Every method on split-digits, memory 100: writes docs/DIGITS.md from its records.

    python -m benchmarks.digits [--seeds 0-2] [--device cpu|cuda] [METHOD ...]

Records go to results/digits/results.jsonl; seeds that are there already are not run again.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import mean

from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.records.results import read
from bison_ocl.experiments.records.spec import parse_seeds
from bison_ocl.experiments.terminal.lines import in_lines
from bison_ocl.experiments.train.runner import Job, run
from bison_ocl.methods import METHODS
from bison_ocl.report.formats.markdown import markdown
from bison_ocl.report.study.entry import prepared
from bison_ocl.report.tables.layouts import overview

DATA, MEMORY, OUT = "split-digits", 100, Path("results/digits")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=[])
    parser.add_argument("--seeds", default="0-2")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--page", type=Path, default=Path("docs/DIGITS.md"))
    arguments = parser.parse_args()
    seeds = parse_seeds(arguments.seeds)
    for name in arguments.methods or ["finetune", *(n for n in METHODS if n != "finetune")]:
        job = Job(
            name, DATA, MEMORY, seeds, {}, arguments.out, device=arguments.device, resume=True
        )
        run(job, in_lines, print)
    write(read(arguments.out / "results.jsonl"), arguments.page)


def write(records: list[Record], page: Path) -> None:
    """The page, with what the numbers were measured on."""
    (table,) = overview("digits", prepared(records))
    ranked = sorted(table.rows, key=lambda row: -mean(row.cells[0].values.values()))
    machines = {
        f"{r.environment.device}, torch {r.environment.torch}, commit {r.commit}" for r in records
    }
    page.write_text(
        "# Every method on split-digits\n\n"
        "Written by `python -m benchmarks.digits`; records in "
        "[`results/digits/results.jsonl`](../results/digits/results.jsonl). Memory 100, percent, "
        "mean ± standard deviation over n seeds. A run has only 140 steps: methods that predict by "
        "a trained head vary by tens of points between seeds.\n\n"
        + markdown(replace(table, rows=tuple(ranked)))
        + "\nMeasured on "
        + "; ".join(sorted(machines))
        + ".\n"
    )


if __name__ == "__main__":
    main()
