"""Cost of a whole training step relative to its bare network passes, per method.

    python -m benchmarks.step [--pairs 40] [METHOD ...]

Bare: the same backbone, in the same memory format, on the same numbers of images: train-mode
forward passes, and a backward pass where the method learns from them. Step and bare are timed in
turns, so that what slows the machine slows both; the figure is the median of the paired ratios.
GDumb is left out: its step stores images and pushes none through the network.
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

from bison_ocl import tree
from bison_ocl.data import load
from bison_ocl.engine.step import Engine
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.methods import METHODS, method_class
from bison_ocl.methods.method import Method
from bison_ocl.methods.settings import configured
from bison_ocl.methods.start import first_state
from bison_ocl.nets.net import Net
from bison_ocl.stream.class_incremental import class_incremental

DATA, MEMORY, WARM_UP = "split-digits", 100, 30
RESULT = Path(__file__).with_name("step.json")


def bare(net: Net, method: Method) -> Callable[[], object]:
    """The network passes alone."""
    images = {n: torch.rand(n, 3, 32, 32) for n in (*method.learned, *method.scored)}

    def learn(net: Net) -> torch.Tensor:
        return torch.stack([net.features(images[n]).sum() for n in method.learned]).sum()

    def go() -> None:
        copy = net.copy()
        with torch.no_grad():
            for n in method.scored:
                copy.features(images[n])
        copy.grad(learn)

    return go


def whole(method: Method) -> tuple[Callable[[], object], Net]:
    """A step as `run` does it, from a state in which everything happens: task 2, memory full."""
    data = load(DATA)
    arriving = class_incremental(data, 100)
    engine = Engine(method)
    me = first_state(method, 100, method.backbone(data.shape), data.classes, MEMORY, data.shape)
    first, second = (list(arriving.batches(task, method.stream_batch)) for task in (0, 1))
    for new in first[:WARM_UP]:
        me, _ = engine.step(me, new)
    me = engine.end_task(me)
    for new in second[:3]:
        me, _ = engine.step(me, new)
    new = second[3]
    return lambda: engine.step(me, new), me.net


def seconds(f: Callable[[], object]) -> float:
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def measure(name: str, pairs: int) -> dict[str, Any]:
    """Paired times of one method."""
    method = configured(name, DATA, {})
    step, net = whole(method)
    alone = bare(net, method)
    for _ in range(3):
        step(), alone()
    pairs = min(pairs, max(12, int(90 / (seconds(step) + seconds(alone)))))
    times = [(seconds(step), seconds(alone)) for _ in range(pairs)]
    ratios = sorted(a / b for a, b in times)
    return {
        "method": name,
        "ratio": statistics.median(ratios),
        "quartiles": [ratios[pairs // 4], ratios[3 * pairs // 4]],
        "step_ms": 1e3 * statistics.median(a for a, _ in times),
        "bare_ms": 1e3 * statistics.median(b for _, b in times),
        "pairs": pairs,
        "parameters": sum(leaf.numel() for leaf in tree.leaves(net.params)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=[])
    parser.add_argument("--pairs", type=int, default=40)
    arguments = parser.parse_args()
    rows = []
    print(f"{'method':<10}{'ratio':>7}  {'quartiles':<14}{'step ms':>8}{'bare ms':>9}")
    for name in arguments.methods or [name for name in METHODS if method_class(name).learned]:
        row = measure(name, arguments.pairs)
        low, high = row["quartiles"]
        print(
            f"{name:<10}{row['ratio']:>7.3f}  {low:.3f} – {high:.3f} "
            f"{row['step_ms']:>8.1f}{row['bare_ms']:>9.1f}",
            flush=True,
        )
        rows.append(row)
    if not arguments.methods:  # a part of the methods is a look, not a record
        found = {"rows": rows, "environment": vars(environment("cpu")), "commit": commit()}
        RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
