"""A step of BISON on a CPU in float32 and bfloat16.

    python -m benchmarks.cpu [--rounds 30] [--threads 1]

CIFAR-10's shape, memory full. The two take turns in one process; `ratio` is float32 over the other,
of medians of the process's own clock, which other programs do not stop. Writes cpu.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from bison_ocl.batch import Batch
from bison_ocl.engine.execution import Execution
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.methods.settings import configured
from bison_ocl.methods.start import first_state
from bison_ocl.nets.precision import Precision
from bison_ocl.processor import computes_bfloat16

CLASSES, MEMORY, SHAPE = 10, 200, (3, 32, 32)
PRECISIONS: dict[str, Precision] = {"float32": "fp32", "bfloat16": "bf16"}
RESULT = Path(__file__).with_name("cpu.json")


def stepper(precision: Precision) -> Callable[[], object]:
    """A function that takes a step, of a run whose memory is full."""
    method = configured("bison", "split-cifar10", {})
    how = Execution("cpu", precision)
    me = first_state(method, 0, how.backbone(method, SHAPE), CLASSES, MEMORY, SHAPE)
    body = how.stepper(how.engine(method), me)
    generator = torch.Generator().manual_seed(0)

    def step() -> object:
        x = torch.randint(0, 256, (10, *SHAPE), generator=generator, dtype=torch.uint8)
        return body.step(Batch(x, torch.randint(0, CLASSES, (10,), generator=generator)))

    for _ in range(MEMORY // 10 + 2):
        step()
    return step


def seconds(f: Callable[[], object]) -> float:
    start = time.process_time()
    f()
    return time.process_time() - start


def measured(rounds: int) -> list[dict[str, Any]]:
    """The precisions in turns."""
    steps = {name: stepper(precision) for name, precision in PRECISIONS.items()}
    times = [{name: seconds(step) for name, step in steps.items()} for _ in range(rounds)]
    medians = {name: statistics.median(one[name] for one in times) for name in steps}
    return [
        {
            "execution": name,
            "step_ms": 1e3 * medians[name],
            "ratio": medians["float32"] / medians[name],
            "quartiles": statistics.quantiles([one["float32"] / one[name] for one in times], n=4),
            "rounds": rounds,
        }
        for name in steps
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rows = measured(arguments.rounds)
    found = {
        "method": "bison",
        "rows": rows,
        "bfloat16_instructions": computes_bfloat16(),
        "environment": vars(environment("cpu")),
        "commit": commit(),
    }
    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    for row in rows:
        print(row)


if __name__ == "__main__":
    main()
