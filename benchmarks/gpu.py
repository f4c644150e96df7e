"""Cost of runs on a GPU: every method, one seed and ten, as an eager loop and captured.

    PYTHONPATH=src python -m benchmarks.gpu [--out gpu.json] [--compile FOLDER] [METHOD ...]

Steps on random images of Split CIFAR-10's shape (10 + 10 a step or what the method takes, full
memory of 1,000, second task). The loop is the engine's step on one run, operator by operator, with
PyTorch's own layers in TF32; ten seeds by the loop are ten times one. Captured steps are in
bfloat16. "s a run" is 5,000 steps and five evaluations of the mean size, 6,000 images. Also: the
step of BISON by precision, compiled and not, its roofline, and a profile before and after. Results
are written as they come; the same command goes on where it was stopped, on the same commit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.roofline import milliseconds, roofline
from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine.capture import Captured, recorded, replayed
from bison_ocl.engine.scoring import alone
from bison_ocl.engine.step import Engine
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.methods import METHODS
from bison_ocl.methods.gdumb.gdumb import GDumb
from bison_ocl.methods.method import Method
from bison_ocl.methods.settings import configured
from bison_ocl.methods.start import first_state
from bison_ocl.nets.precision import PRECISIONS, Precision
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.state import State

DEVICE = "cuda"
CLASSES, MEMORY, SHAPE = 10, 1000, (3, 32, 32)
STEPS, TESTS, TESTED = 5000, 5, 6000
SEEDS = 10


def images(runs: int, count: int, classes: range) -> Batch:
    """Random images, of one run or a stack of runs."""
    lead = (runs, count) if runs > 1 else (count,)
    generator = torch.Generator(DEVICE).manual_seed(0)
    x = torch.randint(0, 256, (*lead, *SHAPE), device=DEVICE, generator=generator)
    y = torch.randint(classes.start, classes.stop, lead, device=DEVICE, generator=generator)
    return Batch(x.byte(), y)


def engine_for(method: Method, runs: int) -> Engine:
    return Engine(method, alone if runs == 1 else tree.vectorised, replayed)


def second_task(method: Method, runs: int, precision: Precision, fused: bool) -> State:
    """Runs in their second task, with a full memory."""
    backbone = ResNet18(method.filters, SHAPE, precision, fused)
    states = [
        first_state(method, 100 + i, backbone, CLASSES, MEMORY, SHAPE, device=DEVICE)
        for i in range(runs)
    ]
    me, engine = (states[0] if runs == 1 else tree.stack(states)), engine_for(method, runs)
    for _ in range(3):
        me, _ = engine.step(me, images(runs, method.stream_batch, range(2)))
    me = engine.end_task(me)
    if method.replays:
        held, memory = images(runs, MEMORY + 1, range(4)), me.memory
        seen = torch.full_like(memory.seen, MEMORY)
        me = replace(me, memory=replace(memory, x=held.x, y=held.y, seen=seen, filled=MEMORY))
    return me


def evaluation_seconds(engine: Engine, me: State, runs: int) -> float:
    """One evaluation."""
    test = images(runs, TESTED, range(CLASSES))
    torch.cuda.synchronize()
    start = time.perf_counter()
    engine.confusion(me, test).tolist()
    return time.perf_counter() - start


def whole_evaluation_seconds(method: Method, engine: Engine, me: State, runs: int) -> float:
    """One evaluation; GDumb's thirty epochs from one and two, as it records a graph once."""
    if not isinstance(method, GDumb):
        return evaluation_seconds(engine, me, runs)
    one, two = (
        evaluation_seconds(replace(engine, method=replace(method, epochs=epochs)), me, runs)
        for epochs in (1, 2)
    )
    return one + (method.epochs - 1) * (two - one)


def loop(name: str) -> dict[str, float]:
    """One run, operator by operator."""
    method = configured(name, "split-cifar10", {})
    me, engine = second_task(method, 1, "tf32", fused=False), Engine(method)
    new = images(1, method.stream_batch, range(2, 4))
    ms = milliseconds(lambda: engine.step(me, new), 10)
    test = whole_evaluation_seconds(method, engine, me, 1)
    return {"ms": ms, "run_s": STEPS * ms / 1e3 + TESTS * test, "evaluation_s": test}


def captured(
    name: str, runs: int, precision: Precision = "bf16", compiled_in: Path | None = None
) -> dict[str, float]:
    """A stack of runs, replayed."""
    method = configured(name, "split-cifar10", {})
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    me, engine = second_task(method, runs, precision, fused=True), engine_for(method, runs)
    new, start = images(runs, method.stream_batch, range(2, 4)), time.perf_counter()
    body = Captured(engine, me, compiled_in)
    body.step(new)
    torch.cuda.synchronize()
    ready = time.perf_counter() - start
    ms = milliseconds(lambda: body.step(new), 50)
    peak = torch.cuda.max_memory_allocated()
    whole_evaluation_seconds(method, engine, body.me, runs)  # kernels are built in the first one
    test = whole_evaluation_seconds(method, engine, body.me, runs)
    return {
        "ms": ms,
        "run_s": STEPS * ms / 1e3 + TESTS * test,
        "evaluation_s": test,
        "ready_s": ready,
        "peak_MB": peak / 1e6,
    }


def row(name: str) -> dict[str, Any]:
    """A method: loop and captured, one seed and ten."""
    by_loop, one, ten = loop(name), captured(name, 1), captured(name, SEEDS)
    return {
        "loop": by_loop,
        "captured_1": one,
        "captured_10": ten,
        "faster_1": by_loop["ms"] / one["ms"],
        "faster_10": SEEDS * by_loop["ms"] / ten["ms"],
        "faster_run_10": SEEDS * by_loop["run_s"] / ten["run_s"],
    }


KINDS = {
    "convolution": ("conv", "halved_gradient_kernel", "weight_gradient", "cudnn",
                    "wgrad", "dgrad", "xmma", "implicit", "grouped"),
    "normalisation": ("sum_kernel", "apply_kernel", "affine_kernel", "batch_norm", "bn_"),
}  # fmt: skip


def profile(runs: int, precision: Precision, fused: bool, compiled_in: Path | None) -> Any:
    """Milliseconds of a BISON step's kernels by kind, and how many there are."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as record

    method = configured("bison", "split-cifar10", {})
    me, engine = second_task(method, runs, precision, fused), engine_for(method, runs)
    new, body = images(runs, method.stream_batch, range(2, 4)), Captured(engine, me, compiled_in)
    body.step(new)
    torch.cuda.synchronize()
    with record(activities=[ProfilerActivity.CUDA]) as found:
        for _ in range(5):
            body.step(new)
        torch.cuda.synchronize()
    times = dict.fromkeys([*KINDS, "rest"], 0.0)
    for event in found.key_averages():
        fitting = (k for k, words in KINDS.items() if any(w in event.key for w in words))
        times[next(fitting, "rest")] += event.device_time_total / 5e3
    return times | {"kernels": sum(event.count for event in found.key_averages()) / 5}


def pieces(runs: int) -> dict[str, float]:
    """Parts of a BISON step, each as a graph of its own: what the rest is spent on, in ms."""
    method = configured("bison", "split-cifar10", {})
    me = second_task(method, runs, "bf16", fused=True)
    each = alone if runs == 1 else tree.vectorised
    new = images(runs, 2 * method.stream_batch, range(4))
    grads = tree.map_leaves(torch.zeros_like, me.net.params)

    def optimise() -> object:
        return each(lambda net, slopes: method.optimiser()(net, slopes, {})[0])(me.net, grads)

    return {
        "augmentation": graph_ms(
            lambda: each(lambda one, batch: tuple(method.view(one, batch)))(me, new)
        ),
        "retrieval": graph_ms(lambda: each(method.retrieve)(me, new)),
        "optimiser": graph_ms(optimise),
    }


def graph_ms(work: Callable[[], Any]) -> float:
    """Of a graph of it."""

    def once() -> None:
        work()

    return milliseconds(recorded(once, once), 50)


def attempt(what: str, work: Callable[[], Any]) -> Any:
    """One entry of the table; a failure is part of the record, not the end of it."""
    try:
        found = work()
    except Exception as error:
        found = {"failed": f"{type(error).__name__}: {str(error)[:300]}"}
    print(what, json.dumps(found), flush=True)
    torch.cuda.empty_cache()
    return found


def bison_steps(folder: Path | None) -> dict[str, Callable[[], Any]]:
    """The step of BISON by precision and number of seeds, compiled too where there is a folder."""
    found: dict[str, Callable[[], Any]] = {}
    for precision in PRECISIONS:
        for runs in (1, SEEDS):
            found[f"{precision}, {runs} seeds"] = partial(captured, "bison", runs, precision)
            if folder and precision != "fp32":
                compiled = partial(captured, "bison", runs, precision, folder)
                found[f"{precision}, {runs} seeds, compiled"] = compiled
    return found


def fastest(steps: Mapping[str, Any]) -> float:
    """Milliseconds of ten seeds in bfloat16, compiled or not; of what did not fail."""
    fitting = (step for key, step in steps.items() if key.startswith(f"bf16, {SEEDS}"))
    return min(float(step["ms"]) for step in fitting if "failed" not in step)


def driver() -> str:
    question = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(question, capture_output=True, text=True, check=False).stdout.strip()


class Table:
    """What was found so far, in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, Any] = {"commit": commit()}
        self.found["environment"] = vars(environment(DEVICE)) | {"driver": driver()}
        known = self.found["commit"] and not self.found["commit"].endswith("+changed")
        earlier = json.loads(path.read_text()) if known and path.exists() else {}
        if {key: earlier.get(key) for key in self.found} == self.found:
            self.found = earlier

    def keep(self, place: Sequence[str], work: Callable[[], Any], again: bool = False) -> None:
        """Do it and write it down, unless it is there. again: even then"""
        *sections, key = place
        section = self.found
        for name in sections:
            section = section.setdefault(name, {})
        if again or key not in section or "failed" in section[key]:
            section[key] = attempt(", ".join(place), work)
            self.path.write_text(json.dumps(self.found, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("gpu.json"))
    parser.add_argument("--compile", type=Path, default=None, help="folder of compiled steps")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("torch finds no GPU here")
    folder, table = arguments.compile, Table(arguments.out)
    captured("finetune", 1)  # libraries take their workspaces now, not in the first row
    for key, work in bison_steps(folder).items():
        table.keep(["bison", key], work)
    count, backbone = 40 * SEEDS, ResNet18(20, SHAPE)
    steps = table.found["bison"]
    table.keep(["roofline"], lambda: roofline(backbone, count, fastest(steps), 2), again=True)
    table.keep(["profile", "before"], lambda: profile(SEEDS, "tf32", False, None))
    table.keep(["profile", "after"], lambda: profile(SEEDS, "bf16", True, None))
    if folder:
        table.keep(["profile", "compiled"], lambda: profile(SEEDS, "bf16", True, folder))
    table.keep(["pieces"], lambda: pieces(SEEDS))
    for name in arguments.methods or METHODS:
        table.keep(["rows", name], partial(row, name))


if __name__ == "__main__":
    main()
