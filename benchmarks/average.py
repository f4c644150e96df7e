"""What averaging the weights adds to a step on a CPU, as the median of paired ratios.

    python -m benchmarks.average [--pairs 60] [METHOD ...]

The same state steps with and without an average, in turns that change their order, so that what
slows the machine slows both. Time is the process's own, which other programs do not lengthen.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from bison_ocl.batch import Batch
from bison_ocl.engine.execution import Execution
from bison_ocl.engine.step import Engine
from bison_ocl.experiments.records.environment import commit, environment
from bison_ocl.methods.settings import configured
from bison_ocl.methods.start import first_state

CLASSES, MEMORY, SHAPE, WARM_UP = 10, 200, (3, 32, 32), 5
RESULT = Path(__file__).with_name("average.json")


def seconds(f: Callable[[], object]) -> float:
    start = time.process_time()
    f()
    return time.process_time() - start


def steps(name: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """A step with an average and one without, from the same state, whose memory holds a batch."""
    method = configured(name, None, {"average": 0.995})
    backbone = Execution().backbone(method, SHAPE)
    me = first_state(method, 0, backbone, CLASSES, MEMORY, SHAPE)
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (10, *SHAPE), generator=generator, dtype=torch.uint8)
    new = Batch(x, torch.arange(10) % CLASSES)
    engine = Engine(method)
    for _ in range(WARM_UP):
        me, _ = engine.step(me, new)
    without = replace(me, average=None)
    return lambda: engine.step(me, new), lambda: engine.step(without, new)


def measure(name: str, pairs: int) -> dict[str, Any]:
    """Paired times of one method."""
    averaging, plain = steps(name)
    times = []
    for turn in range(pairs + 3):
        if turn % 2:
            one, other = seconds(averaging), seconds(plain)
        else:
            other, one = seconds(plain), seconds(averaging)
        times.append((one, other))
    times = times[3:]
    ratios = sorted(one / other for one, other in times)
    return {
        "method": name,
        "ratio": statistics.median(ratios),
        "quartiles": [ratios[pairs // 4], ratios[3 * pairs // 4]],
        "averaging_ms": 1e3 * statistics.median(one for one, _ in times),
        "plain_ms": 1e3 * statistics.median(other for _, other in times),
        "pairs": pairs,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=["bison", "er"])
    parser.add_argument("--pairs", type=int, default=60)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.methods:
        rows.append(measure(name, arguments.pairs))
        print(json.dumps(rows[-1]), flush=True)
    found = {"rows": rows, "environment": vars(environment("cpu")), "commit": commit()}
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
