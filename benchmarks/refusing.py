"""Cost of refusing non-finite steps, as a share of a step.

    python -m benchmarks.refusing [--pairs 60] [METHOD ...]

After a step the engine asks whether loss, network and optimiser are finite, and chooses between the
state before and the state after (`Engine.stored`). That work alone and the whole step are timed in
turns, in processor time of one thread, so that other programs count little. Writes refusing.json.
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

from benchmarks.step import DATA, MEMORY
from bison_ocl.batch import Batch
from bison_ocl.data import load
from bison_ocl.engine.step import LEARNED, Engine
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.methods.settings import configured
from bison_ocl.methods.start import first_state
from bison_ocl.nets.kernels.leaves import finite, restored
from bison_ocl.state import State
from bison_ocl.stream.class_incremental import class_incremental

RESULT = Path(__file__).with_name("refusing.json")
METHODS = ("finetune", "er", "bison")
WARM_UP = 12
"""steps, after which a replay batch can be drawn"""


def both(name: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """A whole step, and what of it belongs to refusing."""
    method, data = configured(name, DATA, {}), load(DATA)
    engine = Engine(method)
    me = first_state(method, 0, method.backbone(data.shape), data.classes, MEMORY, data.shape)
    *before, new = list(class_incremental(data, 0).batches(0, method.stream_batch))[: WARM_UP + 1]
    for one in before:
        me, _ = engine.step(me, one)
    return lambda: engine.step(me, new), refusing(engine, me, new)


def refusing(engine: Engine, me: State, new: Batch) -> Callable[[], object]:
    """The work of a step, of one run or many, that belongs to refusing it."""
    learned = engine.learn(me, new)
    old = {name: getattr(me, name) for name in LEARNED}
    made = {name: learned.changed[name] for name in LEARNED}

    def refuse() -> None:
        ok = finite((learned.loss, made["net"], made["moments"]), learned.loss)
        restored(ok, made, old)
        if learned.write is not None:
            learned.write.only_if(ok, me.memory)

    return refuse


def seconds(f: Callable[[], object]) -> float:
    start = time.thread_time()
    f()
    return time.thread_time() - start


def measure(name: str, pairs: int) -> dict[str, Any]:
    """Shares of one method."""
    step, refuse = both(name)
    seconds(step), seconds(refuse)
    times = [(seconds(refuse), seconds(step)) for _ in range(pairs)]
    low, median, high = statistics.quantiles([part / whole for part, whole in times], n=4)
    return {
        "method": name,
        "share": median,
        "quartiles": [low, high],
        "refusing_ms": 1e3 * statistics.median(part for part, _ in times),
        "step_ms": 1e3 * statistics.median(whole for _, whole in times),
        "pairs": pairs,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=METHODS)
    parser.add_argument("--pairs", type=int, default=60)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for name in arguments.methods:
        rows.append(measure(name, arguments.pairs))
        print(rows[-1], flush=True)
    found = {"rows": rows, "environment": vars(environment("cpu")), "commit": commit()}
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
