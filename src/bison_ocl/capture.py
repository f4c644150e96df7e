"""The step as a CUDA graph: recorded once, replayed with the host out of the loop.

State lives in fixed buffers; a graph reads them, runs the very step of the engine, and ends by
copying what changed back into them. The memory is written in place anyway. A graph serves while no
shape changes: one for each batch size, before and after the end of the first task.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine import Eager, Engine
from bison_ocl.state import State

WARM_UP = 3
"""Eager steps on scratch copies before recording, in which libraries choose their kernels."""


@dataclass(frozen=True)
class Recorded:
    """A graph and the buffers it works on."""

    graph: torch.cuda.CUDAGraph
    new: Batch
    loss: Tensor


class Captured(Eager):
    """An engine whose steps are replayed. The state handed in is copied once, then owned here."""

    def __init__(self, engine: Engine, me: State) -> None:
        super().__init__(engine, tree.map_leaves(torch.clone, me))
        self.graphs: dict[tuple[object, ...], Recorded] = {}

    def step(self, new: Batch) -> Tensor:
        """One step on one stream batch; the loss, valid until the next step."""
        if self.me.memory.filled < self.engine.method.draws(self.me):
            return super().step(new)
        key = (self.me.later, new.x.shape)
        if key not in self.graphs:
            self.graphs[key] = self._record(new)
        recorded = self.graphs[key]
        recorded.new.x.copy_(new.x)
        recorded.new.y.copy_(new.y)
        recorded.graph.replay()
        if self.engine.method.replays:
            self.me = replace(self.me, memory=self.me.memory.grown(new.y.shape[-1]))
        return recorded.loss

    def take(self, after: State) -> None:
        """Put a state's tensors into the buffers; its fixed parts are taken as they are."""
        copy_changed(self.me, after)
        self.me = tree.rebuilt(after, tree.leaves(self.me))

    def _record(self, new: Batch) -> Recorded:
        held = tree.map_leaves(torch.clone, new)
        scratch = tree.map_leaves(torch.clone, self.me)
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                self.engine.step(scratch, held)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            after, loss = self.engine.step(self.me, held)
            copy_changed(self.me, after)
        return Recorded(graph, held, loss)


def copy_changed(buffers: State, after: State) -> None:
    """Write the tensors that a step made anew over the old ones, in one call a dtype."""
    pairs = zip(tree.leaves(buffers), tree.leaves(after), strict=True)
    changed = [(old, new) for old, new in pairs if old.data_ptr() != new.data_ptr()]
    for dtype in {old.dtype for old, _ in changed}:
        of_dtype = [(old, new) for old, new in changed if old.dtype == dtype]
        torch._foreach_copy_([old for old, _ in of_dtype], [new for _, new in of_dtype])
