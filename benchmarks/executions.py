"""Accuracy of different executions: ten seeds in a loop and ten stacked, paired.

    PYTHONPATH=src python -m benchmarks.executions [--out executions.json] [METHOD ...]

split-digits, memory 100, on a GPU by default. The loop: one process per seed, PyTorch's
own layers, step by step. At once: the seeds stacked, fused layers, captured. Trajectories are
chaotic, so single seeds differ; their mean difference should not.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from bison_ocl import tree
from bison_ocl.data import load
from bison_ocl.engine.eager import Eager
from bison_ocl.engine.execution import Execution
from bison_ocl.engine.step import Engine
from bison_ocl.evaluate.confusion import accuracy_by_task
from bison_ocl.evaluate.metrics import average_accuracy
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.experiments.records.spec import parse_seeds
from bison_ocl.experiments.train.devices import resident
from bison_ocl.methods.method import Method
from bison_ocl.methods.settings import configured
from bison_ocl.methods.start import first_state
from bison_ocl.report.study.significance import sign_flip
from bison_ocl.state import State
from bison_ocl.stream.class_incremental import class_incremental
from bison_ocl.stream.tasks import Stream, side_by_side

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@dataclass(frozen=True)
class Place:
    """Where runs take place, and which."""

    data: str
    memory: int
    seeds: tuple[int, ...]
    data_dir: Path | None

    def streams(self, seeds: Sequence[int]) -> list[Stream]:
        dataset = resident(load(self.data, self.data_dir), DEVICE)
        return [class_incremental(dataset, seed) for seed in seeds]

    def born(self, method: Method, stream: Stream, seed: int, execution: Execution) -> State:
        data = stream.dataset
        backbone = execution.backbone(method, data.shape)
        return first_state(
            method, seed, backbone, data.classes, self.memory, data.shape, device=DEVICE
        )


def train(body: Eager, streams: list[Stream], stacked: bool) -> list[float]:
    """AA of each run."""
    matrices: list[list[list[float]]] = [[] for _ in streams]
    size = body.engine.method.stream_batch
    for task in range(streams[0].tasks):
        for new in side_by_side(streams, task, size):
            body.step(new if stacked else tree.pick(new, 0))
        tests = [stream.test(task) for stream in streams]
        counts = body.engine.confusion(body.me, tree.stack(tests) if stacked else tests[0])
        for matrix, stream, found in zip(
            matrices, streams, counts.reshape(len(streams), *counts.shape[-2:]), strict=True
        ):
            matrix.append(accuracy_by_task(found.tolist(), stream.column_of_class).tolist())
        body.end_task()
    return [average_accuracy(matrix) for matrix in matrices]


def looped(place: Place, name: str, seed: int) -> float:
    """One run, step by step."""
    method, (stream,) = configured(name, place.data, {}), place.streams([seed])
    me = place.born(method, stream, seed, Execution("cpu"))  # PyTorch's own layers
    return train(Eager(Engine(method), me), [stream], False)[0]


def at_once(place: Place, name: str) -> list[float]:
    """All seeds, stacked and captured."""
    method, streams = configured(name, place.data, {}), place.streams(place.seeds)
    execution, pairs = Execution(DEVICE), zip(streams, place.seeds, strict=True)
    me = tree.stack([place.born(method, stream, seed, execution) for stream, seed in pairs])
    return train(execution.stepper(execution.engine(method, True), me), streams, True)


def compared(place: Place, name: str) -> dict[str, Any]:
    """Both, and whether they differ."""
    with multiprocessing.get_context("spawn").Pool(len(place.seeds)) as pool:
        loop = pool.map(partial(looped, place, name), place.seeds)
    stack = at_once(place, name)
    return {
        "method": name,
        "data": place.data,
        "memory": place.memory,
        "seeds": list(place.seeds),
        "loop": loop,
        "at_once": stack,
        "mean_difference": (sum(stack) - sum(loop)) / len(place.seeds),
        "p": sign_flip(loop, stack),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=["bison", "er"])
    parser.add_argument("--data", default="split-digits")
    parser.add_argument("--memory", type=int, default=100)
    parser.add_argument("--seeds", default="100-109")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("executions.json"))
    arguments = parser.parse_args()
    seeds = tuple(parse_seeds(arguments.seeds))
    place = Place(arguments.data, arguments.memory, seeds, arguments.data_dir)
    rows = []
    for name in arguments.methods:
        rows.append(compared(place, name))
        print(json.dumps(rows[-1]), flush=True)
    found = {"rows": rows, "environment": vars(environment(DEVICE)), "commit": commit()}
    arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
