"""A step of BISON on a CPU in float32 and bfloat16, operator by operator and compiled.

    python -m benchmarks.cpu [--rounds 30] [--threads 1] [--no-compile]

CIFAR-10's shape, memory full. The executions take turns in one process; `ratio` is float32 eager
over the execution, of medians of the process's own clock, which other programs do not stop. Writes
cpu.json. The first call compiles, which takes minutes.
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
from bison_ocl.data.storage.places import cache_folder
from bison_ocl.engine.execution import Execution
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.methods.settings import configured
from bison_ocl.methods.start import first_state
from bison_ocl.nets.precision import Precision
from bison_ocl.processor import computes_bfloat16

CLASSES, MEMORY, SHAPE = 10, 200, (3, 32, 32)
EXECUTIONS: dict[str, tuple[Precision, bool]] = {
    "float32": ("fp32", False),
    "bfloat16": ("bf16", False),
    "bfloat16 compiled": ("bf16", True),
}
RESULT = Path(__file__).with_name("cpu.json")


def stepper(precision: Precision, compiled_in: Path | None) -> Callable[[], object]:
    """A function that takes a step, of a run whose memory is full."""
    method = configured("bison", "split-cifar10", {})
    how = Execution("cpu", precision, compiled_in)
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


def measured(rounds: int, folder: Path | None) -> list[dict[str, Any]]:
    """The executions in turns. folder: for compiled steps; None to compile none"""
    steps = {
        name: stepper(precision, folder if compiles else None)
        for name, (precision, compiles) in EXECUTIONS.items()
        if folder is not None or not compiles
    }
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
    parser.add_argument("--no-compile", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    folder = None if arguments.no_compile else cache_folder() / "compiled"
    rows = measured(arguments.rounds, folder)
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
