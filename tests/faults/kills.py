"""SIGKILL at random moments of single runs and of groups, each resumed until it is finished."""

from __future__ import annotations

import json
import multiprocessing
import random
import signal
import time
from collections.abc import Sequence
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from bison_ocl.data.sources import digits
from bison_ocl.experiments.carry.work import unwatched
from bison_ocl.experiments.train.runner import Job, run
from bison_ocl.files import checkpoint
from tests.digits import few
from tests.faults.outcome import Outcome
from tests.tiny import same

# A process of its own for each try, begun from one that has paid for torch and never computes.
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["tests.faults.kills"])

MOST_IN_A_ROW = 6
"""kills of one run before it may finish"""


def job(out: Path, seeds: Sequence[int]) -> Job:
    """A run of a second at most, whose seeds are trained together and saved after every step."""
    small = {"filters": "2", "stream_batch": "10"}
    asked: dict[str, Any] = {"save_model": True, "checkpoint_every": 1e-9, "resume": True}
    return Job("er", "split-digits", 20, seeds, small, out, seeds_at_once=len(seeds), **asked)


def train(out: Path, seeds: Sequence[int]) -> None:
    """Begin a job or go on with it, on few digits."""
    torch.set_num_threads(1)
    digits.load = partial(lambda load: few(load()), digits.load)  # type: ignore[assignment]
    run(job(out, seeds), unwatched, lambda _: None)


def started(out: Path, seeds: Sequence[int]) -> BaseProcess:
    process = context.Process(target=train, args=(out, seeds))
    process.start()
    return process


def kills(seeds: Sequence[int], count: int, seed: int) -> Outcome:
    """Kill jobs `count` times in all; each must end as one that was left alone."""
    draw, outcome = random.Random(seed), Outcome()
    with TemporaryDirectory() as folder:
        whole, again = Path(folder, "whole"), Path(folder, "again")
        started(whole, seeds).join()  # the first waits for torch
        begun = time.monotonic()
        started(again, seeds).join()
        lasting = time.monotonic() - begun
        outcome.add(compared(again, whole, seeds), "not even undisturbed")
        while outcome.made < count:
            out, moments = Path(folder, str(outcome.verdicts.total())), list[float]()
            for _ in range(min(MOST_IN_A_ROW, count - outcome.made)):
                moments.append(draw.uniform(0, lasting))
                if not killed(started(out, seeds), moments[-1]):
                    break  # it had finished
                outcome.made += 1
            last = started(out, seeds)
            last.join()
            verdict = compared(out, whole, seeds) if last.exitcode == 0 else "not resumed"
            outcome.add(verdict, f"seeds {seeds}, killed after {moments} s")
    return outcome


def killed(process: BaseProcess, wait: float) -> bool:
    """End a process the hard way after a while; whether it was still at work."""
    process.join(wait)
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


def compared(out: Path, whole: Path, seeds: Sequence[int]) -> str:
    """Whether records and models are those of the undisturbed runs."""
    found, wanted = told(out), told(whole)
    if sorted(record["seed"] for record in found) != sorted(seeds):
        return "records lost or doubled"
    if sorted(found, key=by_seed) != sorted(wanted, key=by_seed):
        return "records differ"
    names = [models(place) for place in (out, whole)]
    if names[0] != names[1]:
        return "models lost"
    for name in names[0]:
        (a, one), (b, other) = (checkpoint.read(place / "models" / name) for place in (out, whole))
        if one != other or not same(a, b):
            return "models differ"
    return "bit-equal"


def models(out: Path) -> list[str]:
    """Files of models. An unfinished one is cleared once the process that wrote it is gone."""
    return sorted(path.name for path in (out / "models").iterdir() if path.name[0] != ".")


def told(out: Path) -> list[dict[str, Any]]:
    """The records, without their times."""
    lines = (out / "results.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "timing"} for line in lines]


def by_seed(record: dict[str, Any]) -> int:
    return int(record["seed"])


single_runs = partial(kills, [0])
groups = partial(kills, [0, 1])
