"""Cost on a GPU of what every step carries: refusing non-finite steps, and averaging the weights.

    PYTHONPATH=src python -m benchmarks.overhead [--seeds 10] [METHOD ...]

Captured steps of stacked seeds in bfloat16 on random images, as benchmarks.gpu takes them. A share
is the work alone, as a graph of its own, over the step; `averaged` is a step with an average over
one without. Writes overhead.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.gpu import SEEDS, engine_for, graph_ms, images, second_task
from benchmarks.refusing import refusing
from benchmarks.roofline import milliseconds
from bison_ocl.engine.capture import Captured
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.methods.settings import configured
from bison_ocl.nets.average import moved

RESULT = Path(__file__).with_name("overhead.json")
METHODS = ("finetune", "er", "bison", "lode")
REPLAYS = 200


def step_ms(name: str, runs: int, **settings: object) -> tuple[float, Callable[[], Any]]:
    """Milliseconds of a captured step, and the work of refusing one."""
    method = configured(name, "split-cifar10", settings)
    me, engine = second_task(method, runs, "bf16", fused=True), engine_for(method, runs)
    new = images(runs, method.stream_batch, range(2, 4))
    refuse = refusing(engine, me, new)
    body = Captured(engine, me)
    body.step(new)
    return milliseconds(lambda: body.step(new), REPLAYS), refuse


def averaging_ms(name: str, runs: int) -> float:
    """Milliseconds of moving the average of a stack of runs."""
    method = configured(name, "split-cifar10", {"average": 0.995})
    me = second_task(method, runs, "bf16", fused=True)
    average, ok = me.average, me.refused == 0
    assert average is not None
    return graph_ms(lambda: moved(average, me.net, me.step, method.average, ok))


def measure(name: str, runs: int) -> dict[str, Any]:
    """Shares of one method."""
    plain, refuse = step_ms(name, runs)
    averaged, _ = step_ms(name, runs, average=0.995)
    refused, averaging = graph_ms(refuse), averaging_ms(name, runs)
    return {
        "method": name,
        "seeds": runs,
        "step_ms": plain,
        "refusing_ms": refused,
        "refusing_share": refused / plain,
        "averaging_ms": averaging,
        "averaging_share": averaging / plain,
        "averaged_step_ms": averaged,
        "averaged": averaged / plain,
        "replays": REPLAYS,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=METHODS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.methods:
        rows.append(measure(name, arguments.seeds))
        print(json.dumps(rows[-1]), flush=True)
    found = {"rows": rows, "environment": vars(environment("cuda")), "commit": commit()}
    arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
