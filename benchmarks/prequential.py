"""What testing every image before training costs, and what `refresh` costs in accuracy.

    python -m benchmarks.prequential --data-dir DIR [--images 1000] [--memory 1000] [--seeds 100]
    python -m benchmarks.prequential --data split-digits --images 400 --memory 400 --filters 8 \\
        --seeds 100-125

Images arrive one by one, evenly spread over the tasks of a class-incremental stream. Three learners
see the same stream: one only observes; one tests then trains, with the default `refresh`; one does
so with `refresh=1`. Times are of the process's own clock, which other programs do not stop. The
second command asks over many seeds, on a small case, whether `refresh` costs accuracy.
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

from bison_ocl import Learner
from bison_ocl.batch import Batch
from bison_ocl.data import load
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.learner.predicting import REFRESH
from bison_ocl.stream.streams import DEFAULT, stream_of

RESULT = Path(__file__).with_name("prequential.json")


def one_by_one(data: str, images: int, seed: int, data_dir: Path | None) -> list[Batch]:
    """Every n-th image of the stream, each as a batch of its own."""
    stream = stream_of(DEFAULT, load(data, data_dir), seed)
    every = sum(len(of_task) for of_task in stream.images) // images
    singles = (one for task in range(stream.tasks) for one in stream.batches(task, 1))
    return [one for place, one in enumerate(singles) if place % every == 0][:images]


def seconds(learn: Callable[[Any, Any], object], arriving: list[Batch]) -> float:
    """Processor time of a learner that sees all images."""
    start = time.process_time()
    for one in arriving:
        learn(one.x, one.y)
    return time.process_time() - start


def measured(method: str, arriving: list[Batch], **options: Any) -> dict[str, float]:
    """Times over observing alone, and prequential accuracies in percent."""
    observing = seconds(Learner(method, **options).observe, arriving)
    found = {"observe_s": observing}
    for refresh in (REFRESH, 1):
        learner = Learner(method, refresh=refresh, **options)
        found[f"ratio_refresh_{refresh}"] = seconds(learner.test_then_train, arriving) / observing
        found[f"accuracy_refresh_{refresh}"] = 100 * (learner.metrics.accuracy or 0.0)
    print(method, found, flush=True)
    return {name: round(value, 3) for name, value in found.items()}


def overall(rows: list[dict[str, float]]) -> dict[str, float | None]:
    """Medians of the ratios, and the paired difference of accuracies with its standard error."""
    gained = [row[f"accuracy_refresh_{REFRESH}"] - row["accuracy_refresh_1"] for row in rows]
    ratios = {
        name: statistics.median(row[name] for row in rows) for name in rows[0] if "ratio" in name
    }
    error = statistics.stdev(gained) / len(gained) ** 0.5 if len(gained) > 1 else None
    return ratios | {"gained_over_refresh_1": statistics.mean(gained), "standard_error": error}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=[])
    parser.add_argument("--data", default="split-cifar10")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--memory", type=int, default=1000)
    parser.add_argument("--filters", type=int, default=20)
    parser.add_argument("--seeds", default="100", help="one number, or first-last")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    first, _, last = asked.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    found: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    methods: dict[str, Any] = {}
    for method in asked.methods or ["bison"]:
        rows = []
        for seed in seeds:
            arriving = one_by_one(asked.data, asked.images, seed, asked.data_dir)
            options = {"memory": asked.memory, "seed": seed, "filters": asked.filters}
            rows.append({"seed": seed} | measured(method, arriving, **options))
        methods[method] = {"overall": overall(rows), "runs": rows}
    found[f"{asked.data}, memory {asked.memory}"] = {
        "images": asked.images,
        "memory": asked.memory,
        "filters": asked.filters,
        "methods": methods,
        "environment": vars(environment("cpu")),
        "commit": commit(),
    }
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
