"""Choose which seeds train together: as many as fit on the GPU, at the same step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import torch

from bison_ocl import tree
from bison_ocl.engine.step import Engine
from bison_ocl.experiments.train import devices
from bison_ocl.experiments.train.run import Run
from bison_ocl.inference.features import at_once
from bison_ocl.state import State
from bison_ocl.stream.tasks import side_by_side

SHARE = 0.8
"""fraction of the free memory that a group may take by estimate"""

COPIES = 3
"""of a state: the run's own, the stack's, and a scratch copy while a graph is captured"""

GRAPHS = 4
"""that hold the memory of a step: before and after the first task's end, full and short batches"""


def fitting(free_bytes: int, bytes_of_one: int, wanted: int) -> int:
    """How many of the wanted seeds train at once; at least one."""
    return max(1, min(wanted, int(SHARE * free_bytes) // bytes_of_one))


def bytes_of_one(run: Run) -> int:
    """GPU memory per stacked run, for its state, steps and tests."""
    engine, method = Engine(run.method, tree.vectorised), run.method
    me, images = busy(run.me), run.stream.dataset.test
    most = at_once(prod(images.x.shape[-2:]), on_gpu=True)
    test = run.execution.moved(images[:most])
    new = next(side_by_side([run.stream], 0, method.stream_batch))

    def evaluate() -> None:
        summary = engine.each(method.summarise)(me)
        if method.fits(me):
            engine.each(method.fit)(me, summary, torch.zeros_like(me.step))
        engine.scores(me, summary, test.x[None])

    step = devices.peak_bytes(lambda: engine.step(me, run.execution.moved(new)))
    peak = max(GRAPHS * step, step + devices.peak_bytes(evaluate))
    tests = 2 * devices.size_of(run.stream.dataset.test)  # a gathered copy, and it stacked
    return COPIES * devices.size_of(run.me) + peak + tests


def busy(me: State) -> State:
    """A stack of one in its most costly state: memory full, first task over."""
    copy = tree.map_leaves(torch.clone, me)
    seen = torch.full_like(copy.memory.seen, copy.memory.capacity)
    memory = replace(copy.memory, seen=seen, filled=copy.memory.capacity)
    return tree.stack([replace(copy, memory=memory, later=True)])


def in_step(runs: Sequence[Run], most: int) -> list[list[Run]]:
    """Groups of runs at the same step, with tasks of the same lengths.

    Interrupted runs resume in groups no larger than before, so that their results stay
    bit-identical.
    """
    groups: dict[tuple[object, ...], list[list[Run]]] = {}
    for run in runs:
        lengths = tuple(len(images) for images in run.stream.images)
        progress, overlapping = run.progress, run.stream.overlapping
        key = (progress.task, progress.step, lengths, overlapping, run.together)
        found = groups.setdefault(key, [[]])
        if len(found[-1]) == min(most, run.together or most):
            found.append([])
        found[-1].append(run)
    return [group for found in groups.values() for group in found]
