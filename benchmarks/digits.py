"""Every method on split-digits, memory 100: the table of docs/METHODS.md, from runs made here.

    python -m benchmarks.digits [--seeds 0-2] [--device auto] [METHOD ...]

Records go to results/digits/results.jsonl; seeds that are there already are not run again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bison_ocl.experiments.lines import Lines
from bison_ocl.experiments.runner import Job, run
from bison_ocl.experiments.spec import parse_seeds
from bison_ocl.experiments.train import Run, Watcher
from bison_ocl.methods import METHODS

DATA, MEMORY, OUT = "split-digits", 100, Path("results/digits")


@contextmanager
def watching(current: Run) -> Iterator[Watcher]:
    yield Lines(current)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=[])
    parser.add_argument("--seeds", default="0-2")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    seeds = parse_seeds(arguments.seeds)
    for name in arguments.methods or ["finetune", *(n for n in METHODS if n != "finetune")]:
        job = Job(name, DATA, MEMORY, seeds, {}, arguments.out, device=arguments.device, resume=True)
        run(job, watching, print)


if __name__ == "__main__":
    main()
