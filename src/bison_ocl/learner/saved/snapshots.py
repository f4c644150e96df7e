"""The snapshot in use, in the file of a learner, so that the loaded one predicts the same.

A file keeps the summary, such as class means, and the network too if steps were taken since. A
snapshot that the next prediction would replace is not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isclose
from typing import Any, TypeVar

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.files.checkpoint import Header
from bison_ocl.learner.calibration import RANGE, Fit
from bison_ocl.learner.predicting import Predicting
from bison_ocl.learner.snapshot import Snapshot, take_snapshot
from bison_ocl.learner.training import Training
from bison_ocl.state import State

T = TypeVar("T")
SUMMARY, STATE = "snapshot.summary", "snapshot.state"
READ = ("net", "extra", "table")
"""parts of a state that predicting may read"""


def packed_snapshot(
    predicting: Predicting, training: Training
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and header values of the snapshot; none if the next prediction takes a new one."""
    snapshot = predicting.snapshot
    if snapshot is None or predicting.is_due(training):
        return {}, {}
    tensors = prefixed(SUMMARY, snapshot.summary)
    if snapshot.step < training.steps:
        tensors |= prefixed(STATE, {part: getattr(snapshot.me, part) for part in READ})
    return tensors, {"snapshot": {"step": snapshot.step, "temperature": snapshot.temperature}}


def snapshot_of(
    header: Header, tensors: Mapping[str, Tensor], training: Training
) -> Snapshot | None:
    """The snapshot of a file; None if it has none, or not in the form that the method makes."""
    if "snapshot" not in header.by_name() or training.me is None:
        return None
    step = header["snapshot"]["step"].whole(least=1, most=training.steps)
    me: State | None = without_memory(training.me)
    if step < training.steps:
        me = as_it_was(without_memory(training.me), tensors)
    if me is None:
        return None
    form = take_snapshot(training.engine, training.arguments.rule, me, training.labels, step)
    summary = filled(SUMMARY, form.summary, tensors)
    if summary is None:
        return None
    return replace(form, summary=summary, temperature=temperature_of(header["snapshot"]))


def fit_of(header: Header, steps: int) -> Fit | None:
    """The temperature in use when a file was written."""
    fit = header.get("fit", None)
    if fit.value is None:
        return None
    return Fit(temperature_of(fit), fit["step"].whole(most=steps), fit["labels"].whole())


def temperature_of(header: Header) -> float:
    temperature = header["temperature"]
    number = temperature.number()
    nearest = min(max(number, 1 / RANGE), RANGE)
    temperature.check(isclose(number, nearest))  # earlier versions wrote the ends with an error
    return nearest


def without_memory(me: State) -> State:
    return replace(me, memory=me.memory.without_rows())


def as_it_was(me: State, tensors: Mapping[str, Tensor]) -> State | None:
    """The state with the kept parts of an earlier one, whose network is the averaged one."""
    parts = filled(STATE, {part: getattr(me, part) for part in READ}, tensors)
    return None if parts is None else replace(me, **parts, average=None)


def prefixed(prefix: str, value: object) -> dict[str, Tensor]:
    return {f"{prefix}.{path}": leaf for path, leaf in tree.named(value).items()}


def filled(prefix: str, form: T, tensors: Mapping[str, Tensor]) -> T | None:
    """A tree of the same form with the tensors of a file; None if they do not fit."""
    wanted = tree.named(form)
    found = {name: value for name, value in tensors.items() if name.startswith(prefix + ".")}
    if found.keys() != prefixed(prefix, form).keys():
        return None
    for path, leaf in wanted.items():
        value = found[f"{prefix}.{path}"]
        if (value.shape, value.dtype) != (leaf.shape, leaf.dtype):
            return None

    def fill(path: str, leaf: Tensor) -> Tensor:
        return torch.empty_like(leaf).copy_(found[f"{prefix}.{path}"])

    return tree.walk(fill, form)
