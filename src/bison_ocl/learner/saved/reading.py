"""Read a learner's file: its arguments first, then what it learned; no code of the file runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bison_ocl.errors import UserError
from bison_ocl.files import checkpoint
from bison_ocl.files.checkpoint import Header
from bison_ocl.inference.rules import RULES
from bison_ocl.learner.arguments import LARGEST_SIDE, Arguments
from bison_ocl.learner.calibration import Fit
from bison_ocl.learner.held_back import HeldBack
from bison_ocl.learner.labels.numbers import Labels
from bison_ocl.learner.predicting import REFRESH
from bison_ocl.learner.prequential import Prequential
from bison_ocl.learner.saved.arrivals import arrivals_of, ids_of
from bison_ocl.learner.saved.counts import counts_of
from bison_ocl.learner.saved.snapshots import fit_of, snapshot_of
from bison_ocl.learner.saved.writing import SCHEMA
from bison_ocl.learner.snapshot import Snapshot
from bison_ocl.learner.training import Training
from bison_ocl.memory.memory import ARRIVED
from bison_ocl.methods import METHODS, method_class, name_of
from bison_ocl.methods.method import Method
from bison_ocl.methods.outside import check_method
from bison_ocl.methods.settings import built
from bison_ocl.nets.precision import PRECISIONS


@dataclass(frozen=True)
class SavedLearner:
    """The contents of a file, after verifying its checksum; each value is checked where used."""

    path: Path
    header: Header
    tensors: dict[str, Tensor]

    @classmethod
    def read(cls, path: Path) -> SavedLearner:
        tensors, values = checkpoint.read(path)
        if values.get("kind") != "learner":
            raise UserError(f"{path} is a checkpoint of `bison-ocl run`: expected a saved learner")
        header = Header(values)
        if "schema" in values and header["schema"].whole(least=2) > SCHEMA:
            raise UserError(f"{path} was written by a later version of bison-ocl: update yours")
        return cls(path, header, tensors)

    def arguments(self, method: type[Method] | None, backbone: nn.Module | None) -> dict[str, Any]:
        """The arguments that the learner was made with."""
        header = self.header
        if (header["backbone"].text() == "module") != (backbone is not None):
            given = "give load(..., backbone=...), or a command --backbone package.module:factory"
            need = given if backbone is None else "leave backbone out"
            raise UserError(f"{self.path} was saved with another backbone: {need}")
        settings = header["settings"].by_name()
        method = saved_class(self.path, header["method"].text(), method)
        built(method, None, settings)  # refuses names of other arguments
        rows = header["rows"].whole(least=1)
        header["classes"].check(header["classes"].value in (None, rows))
        precision, rule = header.get("precision", "tf32"), header.get("rule", None)
        precision.check(precision.value in PRECISIONS)
        rule.check(rule.value in (None, *RULES))
        return settings | {
            "method": method,
            "memory": header["memory"].whole(),
            "seed": header["seed"].whole(),
            "classes": None if header["classes"].value is None else rows,
            "backbone": backbone,
            "task_gap": header["task_gap"].value,
            "refresh": header.get("refresh", REFRESH).whole(least=1),
            "precision": precision.value,
            "rule": rule.value,
            "image_size": header.get("image_size", None).value,
            "normalise": header.get("normalise", None).value,
            "calibration": header.get("calibration", 0).whole(),
        }

    def restore(self, training: Training) -> None:
        """Continue a fresh training where the file was written."""
        header, made = self.header, training.arguments
        rows = header["rows"].whole(least=1)
        labels = self.labels(rows)
        closed = training.classes is not None
        training.labels = labels if closed else labels.without_limit()
        shape = header["shape"].items()
        header["shape"].check(len(shape) == 3)
        sides = tuple(side.whole(least=1, most=LARGEST_SIDE) for side in shape)
        self.check_frozen(made)
        checkpoint.check_fit(training.origin.form(sides, rows, closed), self.tensors)
        blank = training.origin.state(sides, rows, closed)
        me = checkpoint.unpack(blank, self.tensors, header["fixed"].by_name())
        header["labels"].check(set(me.seen.nonzero().flatten().tolist()) <= set(labels.numbers))
        training.start(me)
        training.origin.start_from(me)
        since = header["steps_without_news"].whole(most=training.steps)
        training.new_class_at = training.steps - since
        training.loss = self.loss()
        training.ids = ids_of(header)
        arrived, last = me.memory.fields[ARRIVED], training.steps * made.method.stream_batch
        header["fixed"].check(bool(((arrived >= -1) & (arrived < max(last, 1))).all()))
        training.waiting = arrivals_of("waiting", header, self.tensors, sides)
        training.held_back = self.held_back(sides, made.calibration)
        header["waiting"].check(training.room > 0)
        held_back = training.held_back.kept
        training.labels.check_room(a.label for a in (*held_back, *training.waiting))

    def check_frozen(self, made: Arguments) -> None:
        """Refuse a frozen module for a trainable one and the reverse: their tensors differ."""
        frozen = not any(name.startswith("net.params.backbone.") for name in self.tensors)
        if made.module is not None and made.frozen != frozen:
            saved, given = ("frozen", "trainable") if frozen else ("trainable", "frozen")
            raise UserError(
                f"{self.path} was saved with a {saved} backbone, this one is {given}: "
                "freeze the same parameters as when it was saved, by requires_grad_(False)"
            )

    def labels(self, rows: int) -> Labels:
        """The labels by class number; in earlier files they are numbered in their order."""
        labels = self.header["labels"].items()
        numbered = self.header.get("numbers", list(range(len(labels))))
        numbers = [number.whole(most=rows - 1) for number in numbered.items()]
        numbered.check(len(set(numbers)) == len(labels) == len(numbers))
        return Labels.decoded([label.value for label in labels], numbers, rows)

    def loss(self) -> Tensor | None:
        """The loss of the last step, NaN if it was refused; earlier files have none."""
        loss = self.header.get("loss", None)
        loss.check(loss.value is None or type(loss.value) is float)
        return None if loss.value is None else torch.tensor(loss.value)

    def held_back(self, shape: tuple[int, ...], room: int) -> HeldBack:
        kept = arrivals_of("held_back", self.header, self.tensors, shape)
        self.header["held_back"].check(len(kept) <= room)
        offered = self.header.get("offered_to_hold_back", 0).whole()
        return HeldBack(room, tuple(kept), offered)

    def snapshot(self, training: Training) -> Snapshot | None:
        """The snapshot that answered predictions when the file was written, if there was one."""
        return snapshot_of(self.header, self.tensors, training)

    def fit(self, training: Training) -> Fit | None:
        return fit_of(self.header, training.steps)

    @property
    def counts(self) -> Prequential:
        return counts_of(self.header)


def saved_class(path: Path, name: str, given: type[Method] | None) -> type[Method]:
    """The method class of a saved learner: one of this package, or the given one."""
    if given is None and name not in METHODS:
        advice = f"give load(..., method={name.title()}), or a command --method file.py:Class"
        raise UserError(f"{path} is of the method {name!r} from outside this package: {advice}")
    if given is not None:
        check_method(given)
        if name_of(given) != name:
            raise UserError(f"{path} is of the method {name!r}, not of {name_of(given)!r}")
    return given or method_class(name)
