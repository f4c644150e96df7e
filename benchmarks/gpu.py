"""What a step costs on a GPU: every method, one seed and ten, step by step and as a CUDA graph.

    PYTHONPATH=src python -m benchmarks.gpu [--out graphs.json] [METHOD ...]

On split-digits (32x32, batch 10 + 10, memory 50), in the second task. Ten seeds go through one
vmapped step. The first replay's loss is compared with the eager step's from the same state.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.capture import Captured
from bison_ocl.data import load
from bison_ocl.data.dataset import Dataset
from bison_ocl.engine import Engine
from bison_ocl.experiments.environment import commit, environment
from bison_ocl.learner import backbone_for
from bison_ocl.methods import METHODS
from bison_ocl.methods.settings import configured
from bison_ocl.stream.class_incremental import class_incremental

DATA, MEMORY = "split-digits", 50


def stacked(trees: list[Any]) -> Any:
    """One run as it is, several as a stack."""
    return trees[0] if len(trees) == 1 else tree.stack(trees)


def arriving(data: Dataset, seeds: range, task: int, count: int) -> list[Batch]:
    """The first batches of a task, for all seeds together, on the GPU."""
    streams = [list(class_incremental(data, seed).batches(task, 10))[:count] for seed in seeds]
    groups = [stacked(list(group)) for group in zip(*streams, strict=True)]
    return [tree.map_leaves(lambda leaf: leaf.cuda(), group) for group in groups]


def milliseconds(f: Callable[[], object], times: int) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(times):
        f()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start) / times


def measure(name: str, count: int, data: Dataset) -> dict[str, Any]:
    """Eager and replayed, from a state with a full memory in the second task."""
    method, seeds = configured(name, DATA, {}), range(100, 100 + count)
    backbone = backbone_for(method, data.shape)
    states = [
        method.init(seed, backbone, data.classes, MEMORY, data.shape, device="cuda")
        for seed in seeds
    ]
    engine = Engine(method) if count == 1 else Engine(method, tree.vectorised)
    me = stacked(states)
    for new in arriving(data, seeds, 0, 8):
        me, _ = engine.step(me, new)
    me = engine.end_task(me)
    *warm, new = arriving(data, seeds, 1, 4)
    for batch in warm:
        me, _ = engine.step(me, batch)
    eager = milliseconds(lambda: engine.step(me, new), 20 if count == 1 else 5)
    torch.cuda.reset_peak_memory_stats()
    captured = Captured(engine, me)
    _, loss = engine.step(tree.map_leaves(torch.clone, me), new)
    difference = float((captured.step(new) - loss).abs().max())
    return {
        "method": name,
        "seeds": count,
        "eager_ms": eager,
        "graph_ms": milliseconds(lambda: captured.step(new), 30),
        "loss_difference": difference,
        "peak_GB": torch.cuda.max_memory_allocated() / 1e9,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("graphs.json"))
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("torch finds no GPU here")
    data, rows = load(DATA), []
    for name in arguments.methods or METHODS:
        for count in (1, 10):
            rows.append(measure(name, count, data))
            print(rows[-1], flush=True)
            torch.cuda.empty_cache()
    found = {"rows": rows, "environment": environment("cuda"), "commit": commit()}
    arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
