"""Whether a review of the memory pays: further steps of BISON-ALD after the last task.

    python -m benchmarks.review split-cifar10:200:100 split-cifar100:1000:100 [--data-dir DIR]

Each entry is DATA:MEMORY:SEEDS. A step of the review draws its 10 "stream" images from the memory,
too. Networks are trained and read as by benchmarks.readouts; appends a line per seed to
review.jsonl.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.readouts import append, read, trained
from bison_ocl.data import load
from bison_ocl.experiments.records.spec import parse_seeds
from bison_ocl.methods.method import Method
from bison_ocl.methods.settings import configured
from bison_ocl.nets.average import moved
from bison_ocl.state import State
from bison_ocl.stream.streams import DEFAULT, stream_of

RESULT = Path(__file__).with_name("review.jsonl")
METHOD = "bison-ald"
STEPS = (50, 250, 500)
"""of 5,000 that a run takes: 1, 5 and 10 %"""
RULES = ("ncm-mirror", "ld-mirror", "ld-centred-crop")


def reviewed(me: State, method: Method, steps: int) -> State:
    """The state after so many steps on the memory alone."""
    for _ in range(steps):
        me = replace(me, net=me.net.copy())
        new = me.memory.sample(me.key("review"), method.stream_batch)
        assert new is not None
        update = method.update(me, new)
        net, _ = method.optimiser()(me.net, update.grads, me.moments)
        me = replace(me.with_extra(**update.extra), net=net)
        if me.average is not None:
            average = moved(me.average, net, me.step, method.average, torch.tensor(True))
            me = replace(me, average=average)
        me = replace(me, step=me.step + 1)
    return me


def measured(data: str, memory: int, seed: int, place: Path | None) -> Mapping[str, Any]:
    """AA in percent by number of steps and by rule."""
    stream = stream_of(DEFAULT, load(data, place), seed)
    me = trained(METHOD, stream, memory, seed, "cpu")
    method = configured(METHOD, data, {})
    found: dict[str, Any] = {}
    done = 0
    for steps in (0, *STEPS):
        me, done = reviewed(me, method, steps - done), steps
        every = read(me, method, stream)
        found[str(steps)] = {rule: every[rule] for rule in RULES}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entries", nargs="+")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args()
    for entry in asked.entries:
        data, memory, seeds = entry.rsplit(":", 2)
        for seed in parse_seeds(seeds):
            found = measured(data, int(memory), seed, asked.data_dir)
            row = {"method": METHOD, "data": data, "memory": int(memory), "seed": seed}
            append(asked.out, "cpu", **row, **{"AA by steps": found})
            print(entry, seed, found, flush=True)


if __name__ == "__main__":
    main()
