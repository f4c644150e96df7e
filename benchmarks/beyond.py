"""Cost of BISON-ALD on a GPU that runs nothing else, as multiples of BISON's.

    PYTHONPATH=src python -m benchmarks.beyond [--seeds 10] [--rounds 3]

Captured steps of stacked seeds in bfloat16 on random images, as benchmarks.gpu takes them; memory
1,000, an evaluation of 6,000 images by the method's own rule. The methods take turns and the
median of the rounds counts. Writes beyond.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.gpu import DEVICE, SEEDS, captured, driver
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment

RESULT = Path(__file__).with_name("beyond.json")
BASELINE = "BISON"
ROWS: dict[str, tuple[str, dict[str, object]]] = {
    BASELINE: ("bison", {}),
    "BISON, averaged": ("bison", {"average": 0.995}),
    "BISON-ALD": ("bison-ald", {}),
    "BISON-ALD, memory batch 32": ("bison-ald", {"buffer_batch": 32}),
    "BISON-ALD, memory batch 64": ("bison-ald", {"buffer_batch": 64}),
}
MEASURES = ("ms", "evaluation_s", "peak_MB")


def measured(runs: int, rounds: int) -> dict[str, dict[str, float]]:
    """Medians over the rounds; kernels are built in a first one, which does not count."""
    turns = [
        {row: captured(name, runs, settings=settings) for row, (name, settings) in ROWS.items()}
        for _ in range(rounds + 1)
    ][1:]
    return {
        row: {what: median(turn[row][what] for turn in turns) for what in MEASURES} for row in ROWS
    }


def over_baseline(found: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Each measure as a multiple of BISON's."""
    base = found[BASELINE]
    return {row: {what: values[what] / base[what] for what in MEASURES}
            for row, values in found.items()}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    found = measured(arguments.seeds, arguments.rounds)
    record: dict[str, Any] = {
        "commit": commit(),
        "environment": vars(environment(DEVICE)) | {"driver": driver()},
        "seeds": arguments.seeds,
        "rounds": arguments.rounds,
        "rows": found,
        "over BISON": over_baseline(found),
    }
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")
    for row, values in record["over BISON"].items():
        print(f"{row:30}", *(f"{what} {value:.3f}" for what, value in values.items()))


if __name__ == "__main__":
    main()
