"""The memory in a learner's file, seen without building a network for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from bison_ocl.files.checkpoint import Header
from bison_ocl.learner.memory_view import Clock, MemoryView, not_replayed, view_of_rows
from bison_ocl.learner.saved.arrivals import arrivals_of, ids_of
from bison_ocl.learner.saved.reading import SavedLearner
from bison_ocl.memory.memory import ARRIVED


def memory_in(path: Path) -> MemoryView:
    """The images, labels, ids and ages in the memory of a saved learner."""
    file = SavedLearner.read(path)
    header, tensors = file.header, file.tensors
    shapes = Header({name: tuple(value.shape) for name, value in tensors.items()}, "memory")
    shapes.check({"memory.x", "memory.y", "memory.seen", "step"} <= tensors.keys())
    x, y = tensors["memory.x"], tensors["memory.y"]
    numbers = tensors.get(f"memory.fields.{ARRIVED}", torch.full_like(y, -1))
    whole = y.dtype == numbers.dtype == torch.int64 and x.dtype == torch.uint8
    shapes.check(whole and x.ndim == 4 and x.shape[:1] == y.shape == numbers.shape)
    n = min(len(x), Header(tensors["memory.seen"].flatten().tolist()[0], "memory.seen").whole())
    labels = file.labels(header["rows"].whole(least=1))
    shapes.check(set(y[:n].tolist()) <= set(labels.numbers))
    steps = Header(tensors["step"].flatten().tolist()[0], "step").whole()
    clock = Clock(steps, header["settings"]["stream_batch"].whole(least=1))
    rows = list(zip(y[:n].tolist(), numbers[:n].tolist(), strict=True))
    view = view_of_rows(x, rows, labels, ids_of(header), clock)
    held_back, waiting = (
        not_replayed(arrivals_of(name, header, tensors, tuple(x.shape[1:])))
        for name in ("held_back", "waiting")
    )
    capacity = header["memory"].whole()
    return replace(view, capacity=capacity, held_back=held_back, waiting=waiting)
