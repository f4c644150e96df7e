"""Cost of `Learner.observe` of a stream batch relative to a step of a run with one seed.

    PYTHONPATH=src python -m benchmarks.learner [--device cuda] [--precision bf16] [METHOD ...]

Random images of Split CIFAR-10's shape, in the second task, with a full memory. The learner gets
arrays of the host, as a caller has them; the run gets a batch that is on the device. Both are
timed in turns, in blocks of steps after each of which the host waits for the device; the figure is
the median of the paired ratios. `--out` keeps it.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from bison_ocl import Learner
from bison_ocl.batch import Batch
from bison_ocl.engine.execution import Execution
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.experiments.train.devices import now
from bison_ocl.methods.settings import configured
from bison_ocl.methods.start import first_state
from bison_ocl.nets.precision import PRECISIONS, Precision

CLASSES, SHAPE = 10, (3, 32, 32)


@dataclass(frozen=True)
class Place:
    """Where both are timed."""

    device: str
    precision: Precision
    memory: int


def images(count: int, classes: range) -> Batch:
    """Random images on the host."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (count, *SHAPE), generator=generator, dtype=torch.uint8)
    return Batch(x, torch.randint(classes.start, classes.stop, (count,), generator=generator))


def observing(name: str, place: Place) -> Callable[[], object]:
    """An observe of a learner in its second task, its memory full."""
    learner = Learner(name, classes=CLASSES, task_gap=None, **vars(place))
    size = learner.method.stream_batch
    first, second = (images(size, range(start, start + 2)) for start in (0, 2))
    for _ in range(place.memory // size):
        learner.observe(first.x, first.y)
    learner.new_task()
    return partial(learner.observe, second.x.numpy(), second.y.tolist())


def stepping(name: str, place: Place) -> Callable[[], object]:
    """A step of a run of one seed in its second task, its memory full."""
    method = configured(name, "split-cifar10", {})
    execution = Execution(place.device, place.precision)
    backbone = execution.backbone(method, SHAPE)
    me = first_state(method, 0, backbone, CLASSES, place.memory, SHAPE, device=place.device)
    body = execution.stepper(execution.engine(method), me)
    first, second = (
        execution.moved(images(method.stream_batch, range(start, start + 2))) for start in (0, 2)
    )
    for _ in range(place.memory // method.stream_batch):
        body.step(first)
    body.end_task()
    return partial(body.step, second)


def seconds(work: Callable[[], object], times: int, device: str) -> float:
    """One of so many in a row, once the device has done all of them."""
    start = now(device)
    for _ in range(times):
        work()
    return (now(device) - start) / times


def measure(name: str, place: Place, blocks: int, steps: int) -> Any:
    """Paired times of one method."""
    works = [f(name, place) for f in (observing, stepping)]
    for work in works:  # graphs are recorded
        seconds(work, 3, place.device)
    times = [[seconds(work, steps, place.device) for work in works] for _ in range(blocks)]
    ratios = sorted(a / b for a, b in times)
    return {
        "method": name,
        "precision": place.precision,
        "memory": place.memory,
        "ratio": statistics.median(ratios),
        "quartiles": [ratios[blocks // 4], ratios[3 * blocks // 4]],
        "observe_ms": 1e3 * statistics.median(a for a, _ in times),
        "step_ms": 1e3 * statistics.median(b for _, b in times),
        "blocks": blocks,
        "steps": steps,
    }


def main() -> None:
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=["bison", "er"])
    parser.add_argument("--device", default="cuda" if gpu else "cpu")
    parser.add_argument("--precision", choices=PRECISIONS, default="bf16" if gpu else "tf32")
    parser.add_argument("--memory", type=int, default=1000)
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--steps", type=int, default=100 if gpu else 5)
    parser.add_argument("--out", type=Path, default=None)
    asked = parser.parse_args()
    rows, place = [], Place(asked.device, asked.precision, asked.memory)
    for name in asked.methods:
        rows.append(measure(name, place, asked.blocks, asked.steps))
        print(json.dumps(rows[-1]), flush=True)
    if asked.out:
        found = {"rows": rows, "environment": vars(environment(asked.device)), "commit": commit()}
        asked.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
