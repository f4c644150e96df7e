"""Time and resident memory to open a cached dataset.

    python -m benchmarks.opening --data-dir DIR NAME ...

Each dataset is opened once to build its cache if need be, then again in a fresh process, in which
imports are done before the clock starts. Writes benchmarks/opening.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment

RESULT = Path(__file__).with_name("opening.json")

PROBE = """
import json, sys, time
import torch
from bison_ocl.data import load
from bison_ocl.data.storage import cache, places
name, folder = sys.argv[1:]
resident = lambda: int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20
before, start = resident(), time.perf_counter()
data = load(name, folder)
seconds = time.perf_counter() - start
grown = resident() - before
pixels = data.train.x.numel() + data.test.x.numel()
found = {"data": name, "seconds": seconds, "MiB": grown, "pixels_MiB": pixels / 2**20}
print(json.dumps(found))
"""


def opened(name: str, folder: str) -> dict[str, float]:
    """What a fresh process finds."""
    command = [sys.executable, "-c", PROBE, name, folder]
    found: dict[str, float] = json.loads(subprocess.check_output(command))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--data-dir", required=True)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.names:
        opened(name, arguments.data_dir)
        rows.append(opened(name, arguments.data_dir))
        print(rows[-1], flush=True)
    found = {"rows": rows, "environment": vars(environment("cpu")), "commit": commit()}
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
