"""Expected calibration error of a learner's probabilities, before and after fitting a temperature.

    python -m benchmarks.calibration [--data-dir DIR] [--cells split-digits split-cifar10]

Each learner sees a class-incremental stream, or evenly spread batches of it. Then three softmaxes
of the same scores on test images are compared with accuracy, in 15 bins: of the scores as they are
(temperature 1), by the rule without held-back images, and fitted on those held back.

Two more errors say how much any fit could gain: that of the best temperature, found with the test
labels, and the one that so few test images show even where every probability is right.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bison_ocl import Learner
from bison_ocl.data import load
from bison_ocl.evaluate.calibration import expected_calibration_error
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.learner.calibration import by_rule
from bison_ocl.stream.streams import DEFAULT, stream_of

RESULT = Path(__file__).with_name("calibration.json")
METHODS = ("bison", "er")
TEMPERATURES = [10 ** (place / 2000) for place in range(-6000, 4001)]
"""among which the best one is found: close together, because the error jumps where bins end"""
DRAWS = 1000
"""of outcomes with the given probabilities"""


@dataclass(frozen=True)
class Cell:
    """Data, and how much of it: `steps` batches of ten, all if None; `tested` images at most."""

    data: str
    memory: int
    calibration: int
    steps: int | None
    tested: int
    seeds: tuple[int, ...]


CELLS = (
    Cell("split-digits", 100, 20, None, 360, (0, 1, 2)),
    Cell("split-cifar10", 200, 50, 400, 1000, (0, 1)),
)


def learned(method: str, cell: Cell, seed: int, data_dir: Path | None) -> dict[str, float]:
    """Accuracy, temperatures and errors of one learner, in percent."""
    stream = stream_of(DEFAULT, load(cell.data, data_dir), seed)
    learner = Learner(
        method,
        memory=cell.memory,
        calibration=cell.calibration,
        seed=seed,
        classes=stream.dataset.classes,
        task_gap=None,
    )
    for task in range(stream.tasks):
        batches = list(stream.batches(task, 10))
        every = 1 if cell.steps is None else len(batches) * stream.tasks // cell.steps
        for batch in batches[::every]:
            learner.observe(batch.x, batch.y)
        learner.new_task()
    test = stream.dataset.test
    rows = torch.arange(0, len(test), max(1, len(test) // cell.tested))
    snapshot, scores = learner._scores(test.x[rows])
    labels = torch.tensor([stream.order[int(str(label))] for label in snapshot.labels])
    right = (labels[scores.argmax(1)] == test.y[rows]).numpy()

    def error(temperature: float) -> float:
        return percent(expected_calibration_error(confidence(scores, temperature), right))

    rule = by_rule(learner.method, None)
    return {
        "accuracy": percent(right.mean()),
        "held_back": len(learner._training.held_back.kept),
        "temperature": round(snapshot.temperature, 4),
        "error_as_they_are": error(1.0),
        "error_by_rule": error(rule),
        "error_fitted": error(snapshot.temperature),
        "error_best": min(map(error, TEMPERATURES)),
        "error_if_right": percent(error_if_right(confidence(scores, snapshot.temperature))),
    }


def confidence(scores: Tensor, temperature: float) -> NDArray[np.float32]:
    """The probability of each predicted class."""
    found: NDArray[np.float32] = (scores / temperature).softmax(1).amax(1).numpy()
    return found


def error_if_right(confidence: NDArray[np.float32]) -> float:
    """The mean error of so many images if each is right with the probability that it is given."""
    draws = np.random.default_rng(0).random((DRAWS, len(confidence)))
    errors = [expected_calibration_error(confidence, draw < confidence) for draw in draws]
    return float(np.mean(errors))


def percent(share: float) -> float:
    return round(100 * float(share), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs="*", default=[cell.data for cell in CELLS])
    parser.add_argument("--data-dir", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {"cells": {}}
    for cell in (cell for cell in CELLS if cell.data in asked.cells):
        rows = {}
        for method in METHODS:
            rows[method] = [learned(method, cell, seed, asked.data_dir) for seed in cell.seeds]
            print(cell.data, method, rows[method], flush=True)
        found["cells"][cell.data] = vars(cell) | {"methods": rows, "commit": commit()}
        found["environment"] = vars(environment("cpu"))
        RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
