"""Accuracy of one network by several rules of inference, on pilot seeds.

    python -m benchmarks.readouts split-cifar10:200:100-102 ... [--method bison] [--data-dir DIR]

Each entry is DATA:MEMORY:SEEDS. A network is trained once per seed, in bfloat16 and with averaged
weights, and read by every rule after the last task only. Appends a line per seed to readouts.jsonl.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from bison_ocl.data import load
from bison_ocl.engine.execution import Execution
from bison_ocl.engine.step import Engine
from bison_ocl.evaluate.confusion import accuracy_by_task
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.experiments.records.spec import parse_seeds
from bison_ocl.experiments.train import devices
from bison_ocl.inference.rules import RULES
from bison_ocl.methods.method import Method
from bison_ocl.methods.settings import configured
from bison_ocl.methods.start import first_state
from bison_ocl.state import State
from bison_ocl.stream.streams import DEFAULT, stream_of
from bison_ocl.stream.tasks import Stream

RESULT = Path(__file__).with_name("readouts.jsonl")
READ = (
    *("ncm", "ncm-mirror", "ncm-centred-mirror", "ncm-centred-crop"),
    *("ld-mirror", "ld-crop", "ld-centred-mirror", "ld-centred-crop"),
)
AVERAGE = "0.995"


def trained(name: str, stream: Stream, memory: int, seed: int, device: str) -> State:
    """The state of a new run after the last task."""
    data = stream.dataset
    method = configured(name, data.name, {"average": AVERAGE})
    execution = Execution(device, "bf16")
    backbone = execution.backbone(method, data.shape)
    me = first_state(method, seed, backbone, data.classes, memory, data.shape, device=device)
    me = method.numbered(me, torch.tensor(stream.order, device=device))
    stepper = execution.stepper(execution.engine(method, False), me)
    for task in range(stream.tasks):
        for batch in stream.batches(task, method.stream_batch):
            stepper.step(batch)
        stepper.end_task()
    return stepper.me


def read(me: State, method: Method, stream: Stream) -> dict[str, float]:
    """AA in percent by every rule, on averaged weights."""
    return dict(by_rule(Engine(method), me.averaged(), stream))


def by_rule(engine: Engine, me: State, stream: Stream) -> Iterator[tuple[str, float]]:
    """Each rule, and the mean over tasks of the accuracy on their test images."""
    test = stream.test(stream.tasks - 1)
    for rule in READ:
        both = engine.summarise_by(RULES[rule], me, ())
        counts = engine.count(me, test, engine.scores_by(RULES[rule], me, both, test.x))
        by_task = accuracy_by_task(counts.cpu(), stream.task_of_class)
        yield rule, round(100 * float(by_task.mean()), 2)


def append(out: Path, device: str, **row: Any) -> None:
    """Append a line, with the machine and the commit."""
    row |= {"environment": vars(environment(device)), "commit": commit()}
    with out.open("a") as file:
        file.write(json.dumps(row) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entries", nargs="+")
    parser.add_argument("--method", default="bison-ald")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for entry in asked.entries:
        name, memory, seeds = entry.rsplit(":", 2)
        data = devices.resident(load(name, asked.data_dir), device)
        for seed in parse_seeds(seeds):
            stream = stream_of(DEFAULT, data, seed)
            me = trained(asked.method, stream, int(memory), seed, device)
            found = read(me, configured(asked.method, name, {}), stream)
            append(
                asked.out,
                device,
                method=asked.method,
                data=name,
                memory=int(memory),
                seed=seed,
                average=AVERAGE,
                precision="bf16",
                AA=found,
            )
            print(entry, seed, found, flush=True)


if __name__ == "__main__":
    main()
