"""Cost of BISON-ALD on a GPU that runs nothing else, as multiples of BISON's.

    PYTHONPATH=src python -m benchmarks.beyond [--seeds 10] [--rounds 5]

Captured steps of stacked seeds in bfloat16 on random images, as benchmarks.gpu takes them; memory
1,000, an evaluation of 6,000 images by the method's own rule. The methods take turns and the
median of the rounds counts. Peak memory: what a method allocates until its first step is over.
Writes beyond.json.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.gpu import (
    DEVICE,
    SEEDS,
    driver,
    engine_for,
    evaluation_seconds,
    images,
    second_task,
)
from benchmarks.roofline import milliseconds
from bison_ocl.batch import Batch
from bison_ocl.engine.capture import Captured
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.methods.settings import configured

RESULT = Path(__file__).with_name("beyond.json")
BASELINE = "BISON"
ROWS: dict[str, tuple[str, dict[str, object]]] = {
    BASELINE: ("bison", {}),
    "ER": ("er", {}),
    "ER-ACE": ("er-ace", {}),
    "PCR": ("pcr", {}),
    "LODE": ("lode", {}),
    "BISON, averaged": ("bison", {"average": 0.995}),
    "BISON-ALD": ("bison-ald", {}),
    "BISON-ALD, memory batch 32": ("bison-ald", {"buffer_batch": 32}),
    "BISON-ALD, memory batch 64": ("bison-ald", {"buffer_batch": 64}),
}
MEASURES = ("ms", "evaluation_s", "peak_MB")


@dataclass(frozen=True)
class Ready:
    """A captured step that waits to be timed."""

    body: Captured
    new: Batch
    runs: int
    peak_MB: float

    def timed(self) -> dict[str, float]:
        ms = milliseconds(lambda: self.body.step(self.new), 50)
        test = evaluation_seconds(self.body.engine, self.body.me, self.runs)
        return {"ms": ms, "evaluation_s": test, "peak_MB": self.peak_MB}


def ready(name: str, settings: dict[str, object], runs: int) -> Ready:
    """A method with its graph recorded and its kernels built."""
    method = configured(name, "split-cifar10", settings)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    me, engine = second_task(method, runs, "bf16", fused=True), engine_for(method, runs)
    new, body = images(runs, method.stream_batch, range(2, 4)), Captured(engine, me)
    body.step(new)
    torch.cuda.synchronize()
    peak = (torch.cuda.max_memory_allocated() - before) / 1e6
    evaluation_seconds(engine, body.me, runs)
    return Ready(body, new, runs, peak)


def measured(runs: int, rounds: int) -> dict[str, dict[str, float]]:
    """Medians over the rounds."""
    ready("finetune", {}, 1)  # libraries take their workspaces now, not in the first row
    prepared = {row: ready(name, settings, runs) for row, (name, settings) in ROWS.items()}
    turns = [{row: one.timed() for row, one in prepared.items()} for _ in range(rounds)]
    return {
        row: {what: median(turn[row][what] for turn in turns) for what in MEASURES} for row in ROWS
    }


def over_baseline(found: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Each measure as a multiple of BISON's."""
    base = found[BASELINE]
    return {
        row: {what: values[what] / base[what] for what in MEASURES} for row, values in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--rounds", type=int, default=5)
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
