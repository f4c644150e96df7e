"""Write a learner to one file: the state as tensors, the rest as a JSON header."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from bison_ocl.errors import UserError
from bison_ocl.files import checkpoint
from bison_ocl.learner.predicting import Predicting
from bison_ocl.learner.prequential import Prequential
from bison_ocl.learner.saved.arrivals import encoded_ids, packed
from bison_ocl.learner.saved.counts import encoded_counts
from bison_ocl.learner.saved.snapshots import packed_snapshot
from bison_ocl.learner.training import Training
from bison_ocl.methods import name_of
from bison_ocl.methods.settings import settings_of

SCHEMA = 2
"""1: without this number; its readers know neither snapshots nor numbers of labels"""


def write(path: Path, training: Training, predicting: Predicting, counts: Prequential) -> None:
    """Write what a loaded learner needs to continue and predict the same, waiting images too."""
    me, made = training.me, training.arguments
    if me is None:
        raise UserError("nothing has been observed yet: call observe before save")
    tensors, fixed = checkpoint.pack(me)
    parts = (
        packed("waiting", training.waiting),
        packed("held_back", training.held_back.kept),
        packed_snapshot(predicting, training),
    )
    header = {
        "kind": "learner",
        "schema": SCHEMA,
        "method": name_of(type(made.method)),
        "settings": settings_of(made.method),
        "memory": made.memory,
        "seed": made.seed,
        "classes": training.classes,
        "rows": me.classes,
        "shape": list(me.memory.x.shape[1:]),
        "backbone": "resnet18" if made.module is None else "module",
        "labels": training.labels.encoded(),
        "numbers": training.labels.numbers,
        "task_gap": training.task_gap,
        "steps_without_news": training.steps - training.new_class_at,
        "calibration": made.calibration,
        "image_size": made.image_size,
        "normalise": made.normalise,
        "offered_to_hold_back": training.held_back.offered,
        "fit": asdict(predicting.fit) if predicting.fit and made.calibration else None,
        "ids": encoded_ids(training.stored_ids()),
        "refresh": made.refresh,
        "counts": encoded_counts(counts),
        "loss": None if training.loss is None else float(training.loss),
        "precision": made.execution.precision,
        "rule": made.rule_name,
        "fixed": fixed,
    }
    for more_tensors, more_header in parts:
        tensors, header = tensors | more_tensors, header | more_header
    checkpoint.write(path, tensors, header)
