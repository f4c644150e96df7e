"""Pilot runs on a machine that has torch and little else: no terminal, no command, plain lines.

    PYTHONPATH=src python -m benchmarks.pilot --seeds 100-104 --data-dir DIR --out DIR \
        split-cifar10:500:bison split-cifar10:500:bison,joint=true,eta=10 ...

Each entry is DATA:MEMORY:METHOD[,key=value...]; all in one process, seeds together on a GPU, also
scored by nearest class mean, with unit features and raw. Records go to OUT/results.jsonl as they
come; finished ones are skipped. One failing entry is reported and does not stop the others.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from bison_ocl.experiments.records.spec import parse_seeds
from bison_ocl.experiments.terminal.lines import in_lines
from bison_ocl.experiments.train.runner import Job, run
from bison_ocl.methods import method_class
from bison_ocl.methods.settings import parse
from bison_ocl.stream.streams import DEFAULT


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def job_of(text: str, arguments: argparse.Namespace) -> Job:
    """What an entry asks for."""
    data, memory, method = text.split(":")
    name, *settings = method.split(",")
    return Job(
        name,
        data,
        int(memory),
        parse_seeds(arguments.seeds),
        parse(settings),
        arguments.out,
        device="cuda" if torch.cuda.is_available() else "cpu",
        checkpoint_every=1e9,
        stream=arguments.stream,
        data_dir=arguments.data_dir,
        resume=True,
        also=("ncm", "ncm-raw") if method_class(name).replays else (),
        precision=arguments.precision,
        compiling=arguments.compile,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entries", nargs="+")
    parser.add_argument("--seeds", default="100")
    parser.add_argument("--precision", default="tf32")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--stream", default=DEFAULT)
    parser.add_argument("--data-dir", type=Path, default=None)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    failed = 0
    for text in arguments.entries:
        try:
            found = run(job_of(text, arguments), in_lines, say)
            mean = sum(record["metrics"]["AA"] for record in found) / len(found)
            print(f"{text}: AA {100 * mean:.1f} % (n = {len(found)})", flush=True)
        except Exception as error:
            failed += 1
            say(f"{text} failed: {error!r}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
