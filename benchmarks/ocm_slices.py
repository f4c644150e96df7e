"""OCM with its logits cut by position on shuffled classes: is that the OCM of the paper's tables?

    PYTHONPATH=src python -m benchmarks.ocm_slices --out DIR [--data-dir DIR] [--seeds 100-102]

OCM holds the logits of the k old classes to the previous model's. Guo et al.'s code takes the first
k, which is right on its streams, where classes come in the order of their numbers; where they are
shuffled, the first k are others. Split CIFAR-10, memory 500; beside it OCM by the set of old
classes, as the package has it, and FINE-TUNE for AI. Writes DIR/ocm-slices.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from benchmarks.pilot import job_of, say
from benchmarks.readings import METRICS
from bison_ocl.data import load
from bison_ocl.experiments.lines import in_lines
from bison_ocl.experiments.records import Record
from bison_ocl.experiments.runner import run
from bison_ocl.experiments.spec import parse_seeds
from bison_ocl.losses.squared_error import squared_error
from bison_ocl.methods import ocm
from bison_ocl.report.folder import own, prepared
from bison_ocl.stream.streams import DEFAULT, stream_of

DATA = "split-cifar10"


def sliced(order: Tensor) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """The squared error over the dataset's first k classes. order: its id of each class, [C]"""

    def error(logits: Tensor, target: Tensor, old: Tensor) -> Tensor:
        return squared_error(logits, target, order < old.sum())

    return error


def by_position(seeds: Sequence[int], arguments: argparse.Namespace) -> list[Record]:
    """OCM's runs, each with its own order of classes in the loss."""
    dataset, found = load(DATA, arguments.data_dir), []
    for seed in seeds:
        changed = vars(arguments) | {"seeds": str(seed), "out": arguments.out / "by-position"}
        job = job_of(f"{DATA}:500:ocm", argparse.Namespace(**changed))
        order = torch.tensor(stream_of(DEFAULT, dataset, seed).order, device=job.device)
        with patch.object(ocm, "squared_error", sliced(order)):
            found += run(job, in_lines, say)
    return found


def rows(records: Sequence[Record], references: Sequence[Record]) -> list[dict[str, Any]]:
    """What is kept of runs, AI against FINE-TUNE of the same streams."""
    return [
        {"seed": record["seed"], "accuracy": record["accuracy"]}
        | {metric: record["metrics"][metric] for metric in METRICS}
        for record in own(prepared(records, beside=references))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, default=None)
    parser.add_argument("--seeds", default="100-102")
    parser.set_defaults(precision="bf16", compile=False, stream=DEFAULT)
    arguments = parser.parse_args()
    references = run(job_of(f"{DATA}:0:finetune", arguments), in_lines, say)
    by_set = run(job_of(f"{DATA}:500:ocm", arguments), in_lines, say)
    other = by_position(parse_seeds(arguments.seeds), arguments)
    about = ("data", "memory", "commit", "environment")
    found: dict[str, Any] = {key: by_set[0][key] for key in about}
    found |= {"by set": rows(by_set, references), "by position": rows(other, references)}
    (arguments.out / "ocm-slices.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
