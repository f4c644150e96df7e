"""Runs on a machine that has torch and little else: no terminal, no command, plain lines.

    PYTHONPATH=src python -m benchmarks.pilot --data split-cifar10 --memory 500 --seeds 100 \
        --data-dir DIR --out DIR --device cuda [--at-once 8] METHOD[,key=value...] ...

Every method runs in a process of its own, `--at-once` of them side by side; a small network leaves
most of a GPU idle. Records go to OUT/METHOD.../results.jsonl.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from bison_ocl.experiments.lines import in_lines
from bison_ocl.experiments.runner import Job, run
from bison_ocl.experiments.spec import parse_seeds
from bison_ocl.methods import method_class
from bison_ocl.methods.settings import parse


def one(text: str, arguments: argparse.Namespace) -> None:
    """Run one method in this process."""
    name, *settings = text.split(",")
    also = ("ncm",) if method_class(name).replays else ()
    job = Job(
        name,
        arguments.data,
        arguments.memory,
        parse_seeds(arguments.seeds),
        parse(settings),
        Path(arguments.out) / text.replace("=", "-").replace(",", "_"),
        device=arguments.device,
        checkpoint_every=1e9,
        data_dir=Path(arguments.data_dir),
        resume=True,
        also=also,
    )
    run(job, in_lines, lambda line: print(line, file=sys.stderr))


def many(methods: list[str], at_once: int) -> int:
    """Run each method in a child process; how many failed."""
    options = [word for word in sys.argv[1:] if word not in methods]
    waiting, running, failed = list(methods), dict[str, subprocess.Popen[bytes]](), 0
    while waiting or running:
        while waiting and len(running) < at_once:
            text = waiting.pop(0)
            command = [sys.executable, "-m", "benchmarks.pilot", *options, text]
            running[text] = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
        for text in [text for text, child in running.items() if child.poll() is not None]:
            failed += running.pop(text).returncode != 0
        time.sleep(0.2)
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="+")
    parser.add_argument("--data", default="split-cifar10")
    parser.add_argument("--memory", type=int, default=500)
    parser.add_argument("--seeds", default="100")
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--at-once", type=int, default=8)
    arguments = parser.parse_args()
    if len(arguments.methods) > 1:
        sys.exit(many(arguments.methods, arguments.at_once))
    one(arguments.methods[0], arguments)


if __name__ == "__main__":
    main()
