"""How far the executions of a step are apart on a GPU, for every method: benchmarks/equality.json.

    PYTHONPATH=src python -m benchmarks.equality [--out equality.json] [METHOD ...]

From 50 states each (tests/equality.py), in float64 and in float32 without TF32.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import torch

from bison_ocl.experiments.environment import commit, environment
from bison_ocl.methods import METHODS
from tests.equality import differences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("equality.json"))
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("torch finds no GPU here")
    rows = []
    for name in arguments.methods or METHODS:
        for dtype in (torch.float64, torch.float32):
            for how, apart in differences(name, dtype).items():
                rows.append({"method": name, "dtype": str(dtype), "how": how, **asdict(apart)})
                print(rows[-1], flush=True)
    found = {"rows": rows, "environment": environment("cuda"), "commit": commit()}
    arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
