"""A learner in service: latency while another thread learns, import time, 10,000 steps.

    python -m benchmarks.in_service [latency] [importing] [endurance]
    PYTHONPATH=src python -m benchmarks.in_service latency --device cuda [--out FILE]

Other programs may use the machine, so figures are ratios of medians whose two sides alternate, and
times but those of predictions are processor times of this process. The JSON keeps each figure.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from bison_ocl import Learner
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment

RESULT = Path(__file__).with_name("in_service.json")


def images(n: int, side: int, classes: int = 10) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (n, 3, side, side), generator=generator, dtype=torch.uint8)
    return x, torch.arange(n) % classes


def latency(device: str, blocks: int = 8, asked: int = 25) -> dict[str, Any]:
    """Seconds of `predict` of one image, idle and while another thread observes."""
    learner, (x, y) = Learner("bison", memory=1000, device=device), images(1000, 32)
    learner.observe(x, y)
    times: dict[str, list[float]] = {"idle": [], "learning": []}

    def ask(kind: str) -> None:
        for i in range(asked):
            start = time.perf_counter()
            learner.predict(x[i])
            times[kind].append(time.perf_counter() - start)

    def block() -> tuple[int, float]:
        """Steps that the other thread took while asked, and in how many seconds."""
        learner.predict(x[0])
        ask("idle")
        stop = threading.Event()

        def learn() -> None:
            while not stop.is_set():
                learner.observe(x[:10], y[:10])

        thread, before, start = threading.Thread(target=learn), learner.metrics.steps, now()
        thread.start()
        ask("learning")
        stop.set()
        thread.join()
        return learner.metrics.steps - before, now() - start

    def now() -> float:
        """The clock, when all steps are done."""
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    block()  # which also makes a GPU choose and build its kernels
    times = {kind: [] for kind in times}
    steps, seconds = zip(*(block() for _ in range(blocks)), strict=True)
    medians = {kind: statistics.median(found) for kind, found in times.items()}
    tails = {kind: sorted(found)[int(0.95 * len(found))] for kind, found in times.items()}
    return {
        "method": "bison",
        "memory": 1000,
        "predictions": blocks * asked,
        "median_ms": {kind: round(1e3 * value, 2) for kind, value in medians.items()},
        "95th_percentile_ms": {kind: round(1e3 * value, 2) for kind, value in tails.items()},
        "ratio": round(medians["learning"] / medians["idle"], 2),
        "steps_meanwhile": sum(steps),
        "ms_per_step_meanwhile": round(1e3 * sum(seconds) / sum(steps), 2),
        "load": round(os.getloadavg()[0], 1),
    }


def importing(pairs: int = 9) -> dict[str, Any]:
    """Processor seconds of importing Learner over those of importing torch."""

    def seconds(code: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    codes = ("from bison_ocl import Learner", "import torch")
    found = [[seconds(code) for code in codes] for _ in range(pairs)]
    return {
        "pairs": pairs,
        "torch_s": round(statistics.median(b for _, b in found), 2),
        "ratio": round(statistics.median(a / b for a, b in found), 3),
    }


def endurance(steps: int = 10_000) -> dict[str, Any]:
    """Processor time and resident memory by tenths of many steps on 8x8 images."""
    learner, (x, y) = Learner("bison", memory=100, filters=4), images(100, 8)
    seconds, resident = [], []
    for _ in range(10):
        start = time.process_time()
        for step in range(steps // 10):
            part = slice(10 * (step % 10), 10 * (step % 10) + 10)
            learner.observe(x[part], y[part])
        seconds.append(time.process_time() - start)
        resident.append(pages() * os.sysconf("SC_PAGE_SIZE") / 2**20)
        print(seconds, resident, flush=True)
    return {
        "steps": steps,
        "seconds_by_tenth": [round(value, 2) for value in seconds],
        "resident_mib_by_tenth": [round(value, 1) for value in resident],
        "last_over_second": round(seconds[-1] / seconds[1], 3),
        "memory_last_over_second": round(resident[-1] / resident[1], 4),
    }


def pages() -> int:
    """Resident pages of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1])


FIGURES: dict[str, Callable[[], dict[str, Any]]] = {
    "latency": lambda: latency("cpu"),
    "importing": importing,
    "endurance": endurance,
}
ON_A_GPU: dict[str, Callable[[], dict[str, Any]]] = {
    "latency": lambda: latency("cuda", blocks=10, asked=100)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figures", nargs="*", default=[], choices=[[], *FIGURES])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, Any] = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    figures, suffix = (FIGURES, "") if asked.device == "cpu" else (ON_A_GPU, "_cuda")
    for name in asked.figures or figures:
        whose = {"environment": vars(environment(asked.device)), "commit": commit()}
        found[name + suffix] = figures[name]() | whose
        print(name, found[name + suffix], flush=True)
        asked.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
