"""Cost of averaging the weights in a CPU step (medians of paired ratios).

    python -m benchmarks.average [--pairs 60] [METHOD ...]

`share`: the averaging alone over a step without it. `ratio`: a step with it over one without; on a
shared machine single steps differ by more than the averaging costs. All three are timed in turns,
by the process's own clock, which other programs do not stop.
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
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.methods.settings import configured
from bison_ocl.methods.start import first_state
from bison_ocl.nets.average import moved

CLASSES, MEMORY, SHAPE, WARM_UP = 10, 200, (3, 32, 32), 5
RESULT = Path(__file__).with_name("average.json")


def seconds(f: Callable[[], object]) -> float:
    start = time.process_time()
    f()
    return time.process_time() - start


def works(name: str) -> dict[str, Callable[[], object]]:
    """A step with an average and one without, from the same state, and the averaging alone."""
    method = configured(name, None, {"average": 0.995})
    backbone = Execution().backbone(method, SHAPE)
    me = first_state(method, 0, backbone, CLASSES, MEMORY, SHAPE)
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (10, *SHAPE), generator=generator, dtype=torch.uint8)
    new = Batch(x, torch.arange(10) % CLASSES)
    engine = Engine(method)
    for _ in range(WARM_UP):
        me, _ = engine.step(me, new)
    average, without = me.average, replace(me, average=None)
    assert average is not None
    return {
        "with": lambda: engine.step(me, new),
        "without": lambda: engine.step(without, new),
        "averaging": lambda: moved(average, me.net, me.step, method.average, torch.tensor(True)),
    }


def measure(name: str, pairs: int) -> dict[str, Any]:
    """Paired times of one method."""
    asked = works(name)
    turns = [{what: seconds(work) for what, work in asked.items()} for _ in range(pairs + 3)][3:]
    found: dict[str, Any] = {"method": name, "pairs": pairs}
    for what, one in (("share", "averaging"), ("ratio", "with")):
        ratios = sorted(turn[one] / turn["without"] for turn in turns)
        found[what] = statistics.median(ratios)
        found[f"{what}_quartiles"] = [ratios[pairs // 4], ratios[3 * pairs // 4]]
    for what in asked:
        found[f"{what}_ms"] = 1e3 * statistics.median(turn[what] for turn in turns)
    return found


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
