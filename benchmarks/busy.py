"""Time of a BISON step next to two busy programs, for several spin counts of waiting threads.

    python -m benchmarks.busy [--rounds 15]

OpenMP's threads wait for each other at every operator, and torch's runtime (GNU's libgomp) spins
while it waits. Beside other programs a thread may then spin for one that has no core. One process
per spin count takes the same steps on two threads, in turns, alone and beside two busy processes,
so that what slows the machine slows all of them. Figures are medians and quartiles of the ratios
within a round, over the quiet rounds: those during which nobody else used much of a core.

On a shared Linux machine, root can have quiet rounds by giving the benchmark's session the cores:

    setsid sh -c 'echo -20 > /proc/self/autogroup; exec python -m benchmarks.busy'
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

SPINS = (300_000, 100_000, 30_000, 10_000, 3_000, 1_000, 0)
"""the first is libgomp's own, where nobody asks for another; the last never spins"""
USUAL = SPINS[0]
METHOD, THREADS, BUSY = "bison", 2, 2
WARM_UP, STEPS = 2, 5
QUIET = 0.15
"""share of the cores that others may use during a round"""
PAUSE = 3.0
"""seconds after each pair of measurements, for the others on the machine"""
RESULT = Path(__file__).with_name("busy.json")

Round = dict[int, tuple[float, float]]
"""by spin count the seconds of a step, alone and beside others"""


def serve() -> None:
    """Take steps whenever a line comes in, and say how many seconds one took."""
    import torch

    from benchmarks.step import seconds, whole
    from bison_ocl.methods.settings import configured

    torch.set_num_threads(THREADS)
    step, _ = whole(configured(METHOD, "split-digits", {}))
    for _ in sys.stdin:
        for _ in range(WARM_UP):
            step()
        print(seconds(lambda: [step() for _ in range(STEPS)]) / STEPS, flush=True)


class Stepper:
    """A process with a spin count of its own."""

    def __init__(self, spins: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.busy", "--serve"],
            env={**os.environ, "GOMP_SPINCOUNT": str(spins)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self) -> float:
        """Of a step, now."""
        asked, answered = self.process.stdin, self.process.stdout
        assert asked is not None
        assert answered is not None
        print("go", file=asked, flush=True)
        return float(answered.readline())

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


class Program:
    """A process that keeps a core busy, while it may."""

    def __init__(self) -> None:
        loop = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
        self.process = subprocess.Popen([sys.executable, "-c", loop])
        self.process.send_signal(signal.SIGSTOP)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def at_work(programs: Sequence[Program]) -> Iterator[None]:
    for program in programs:
        program.process.send_signal(signal.SIGCONT)
    try:
        yield
    finally:
        for program in programs:
            program.process.send_signal(signal.SIGSTOP)


def used(processes: Sequence[int]) -> tuple[float, float]:
    """Seconds of processor time used so far: by everybody, and by these processes."""
    tick = os.sysconf("SC_CLK_TCK")
    user, nice, system, _idle, _waiting, *interrupts = machine_ticks()
    own = sum(sum(process_ticks(process)) for process in processes)
    return (user + nice + system + sum(interrupts)) / tick, own / tick


def machine_ticks() -> list[int]:
    # the last two are a guest's, which its host counts as a user's already
    return list(map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9]))


def process_ticks(process: int) -> list[int]:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return list(map(int, fields[11:13]))


def measured(rounds: int) -> Iterator[tuple[float, Round]]:
    """Round by round, the share of the cores that others used, and the seconds of steps."""
    with ExitStack() as stack:
        programs = [Program() for _ in range(BUSY)]
        for program in programs:
            stack.callback(program.end)
        steppers: dict[int, Stepper] = {}
        for spins in reversed(SPINS):  # one after the other, so that none waits for the rest
            steppers[spins] = Stepper(spins)
            stack.callback(steppers[spins].end)
            steppers[spins].seconds()
        for _ in range(rounds):
            others, found = 0.0, Round()
            for spins, stepper in steppers.items():
                processes = [stepper.process.pid, *(program.process.pid for program in programs)]
                begun, before = time.monotonic(), used(processes)
                alone = stepper.seconds()
                with at_work(programs):
                    found[spins] = alone, stepper.seconds()
                everybody, own = (b - a for a, b in zip(before, used(processes), strict=True))
                cores = (time.monotonic() - begun) * (os.cpu_count() or 1)
                others = max(others, (everybody - own) / cores)
                time.sleep(PAUSE)
            yield others, found


def summary(rounds: Sequence[Round]) -> dict[int, dict[str, Any]]:
    """Medians and quartiles over rounds, by spin count."""

    def of(spins: int) -> dict[str, Any]:
        alone, beside = zip(*(one[spins] for one in rounds), strict=True)
        return {
            "alone_ms": 1e3 * statistics.median(alone),
            "beside_ms": 1e3 * statistics.median(beside),
            "beside_over_alone": spread([b / a for a, b in zip(alone, beside, strict=True)]),
            "alone_over_usual": spread([one[spins][0] / one[USUAL][0] for one in rounds]),
        }

    return {spins: of(spins) for spins in SPINS}


def spread(ratios: Sequence[float]) -> dict[str, float]:
    """The quartiles of paired ratios."""
    quartiles = statistics.quantiles(ratios, n=4, method="inclusive")
    return dict(zip(("low", "median", "high"), quartiles, strict=True))


def record(found: Sequence[tuple[float, Round]]) -> dict[str, Any]:
    """What the rounds so far say, two at least; of the quiet ones where there are as many."""
    from bison_ocl.experiments.records.commit import commit
    from bison_ocl.experiments.records.environment import environment

    quiet = [times for others, times in found if others < QUIET]
    return {
        "method": METHOD,
        "threads": THREADS,
        "busy_processes": BUSY,
        "steps": STEPS,
        "cores": os.cpu_count(),
        "rounds": len(found),
        "quiet_rounds": len(quiet),
        "used_by_others": [round(others, 2) for others, _ in found],
        "spins": summary(quiet if len(quiet) > 1 else [times for _, times in found]),
        "environment": vars(environment("cpu")),
        "commit": commit(),
    }


def main(rounds: int) -> None:
    found: list[tuple[float, Round]] = []
    for others, times in measured(rounds):
        found.append((others, times))
        shown = {spins: [round(1e3 * x) for x in pair] for spins, pair in times.items()}
        print(f"others {others:.2f}", shown, flush=True)
        if len(found) > 1:
            RESULT.write_text(json.dumps(record(found), indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    serve() if asked.serve else main(asked.rounds)
