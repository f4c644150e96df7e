"""What testing every image before training costs, and what `refresh` costs in accuracy.

    python -m benchmarks.prequential --data-dir DIR [--images 1000] [--memory 1000] [--seed 100]

Images of Split CIFAR-10 arrive one by one, evenly spread over its five tasks. Three learners see
the same stream: one only observes; one tests then trains, with the default `refresh`; one does so
with `refresh=1`. Times are of the process's own clock, which other programs do not stop.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from bison_ocl import Learner
from bison_ocl.batch import Batch
from bison_ocl.data import load
from bison_ocl.experiments.records.environment import commit, environment
from bison_ocl.learner.predicting import REFRESH
from bison_ocl.stream.streams import DEFAULT, stream_of

DATA = "split-cifar10"
RESULT = Path(__file__).with_name("prequential.json")


def one_by_one(images: int, seed: int, data_dir: Path | None) -> list[Batch]:
    """Every n-th image of the stream, each as a batch of its own."""
    stream = stream_of(DEFAULT, load(DATA, data_dir), seed)
    every = sum(len(of_task) for of_task in stream.images) // images
    singles = (one for task in range(stream.tasks) for one in stream.batches(task, 1))
    return [one for place, one in enumerate(singles) if place % every == 0][:images]


def seconds(learn: Callable[[Any, Any], object], arriving: list[Batch]) -> float:
    """Processor time of a learner that sees all images."""
    start = time.process_time()
    for one in arriving:
        learn(one.x, one.y)
    return time.process_time() - start


def measured(method: str, memory: int, seed: int, arriving: list[Batch]) -> dict[str, float]:
    """Times over observing alone, and prequential accuracies in percent."""
    observing = seconds(Learner(method, memory=memory, seed=seed).observe, arriving)
    found = {"observe_s": observing}
    for refresh in (REFRESH, 1):
        learner = Learner(method, memory=memory, seed=seed, refresh=refresh)
        found[f"ratio_refresh_{refresh}"] = seconds(learner.test_then_train, arriving) / observing
        found[f"accuracy_refresh_{refresh}"] = 100 * (learner.metrics.accuracy or 0.0)
        print(method, found, flush=True)
    return {name: round(value, 3) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=[])
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--memory", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=100)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    arriving = one_by_one(asked.images, asked.seed, asked.data_dir)
    methods = asked.methods or ["bison", "er"]
    RESULT.write_text(
        json.dumps(
            {
                "data": DATA,
                "images": asked.images,
                "memory": asked.memory,
                "seed": asked.seed,
                "methods": {
                    method: measured(method, asked.memory, asked.seed, arriving)
                    for method in methods
                },
                "environment": vars(environment("cpu")),
                "commit": commit(),
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
