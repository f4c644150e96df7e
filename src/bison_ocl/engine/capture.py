"""Steps as CUDA graphs: captured once, then replayed without the host.

State lives in fixed buffers: a graph reads them, runs the engine's own step, and copies the changes
back; the memory is written in place anyway. A graph is valid while no shape changes: one per batch
size, before and after the end of the first task. Growing heads need new buffers and new graphs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine.compile import compiled
from bison_ocl.engine.eager import Eager
from bison_ocl.engine.scoring import Turn
from bison_ocl.engine.step import Engine, Learned
from bison_ocl.state import State

REHEARSALS = 3
"""rehearsals before the capture, so that libraries choose kernels and allocate outside a graph"""

RECORDING = threading.Lock()
"""one capture at a time per process, as all use PyTorch's one capture stream"""

Replay = Callable[[], None]


@dataclass(frozen=True)
class Recorded:
    """A graph and its own buffers, besides those of the state."""

    replay: Replay
    new: Batch
    loss: Tensor


@dataclass(frozen=True)
class Copies:
    """Buffers and room for a copy of each, listed once: walking a state takes longer."""

    pairs: list[tuple[list[Tensor], list[Tensor]]]
    """by dtype, because one kernel copies many tensors of one"""

    @classmethod
    def of(cls, buffers: list[Tensor]) -> Copies:
        by_dtype: dict[torch.dtype, list[Tensor]] = {}
        for buffer in buffers:
            by_dtype.setdefault(buffer.dtype, []).append(buffer)
        return cls([(same, [torch.empty_like(one) for one in same]) for same in by_dtype.values()])

    def keep(self) -> None:
        for buffers, copies in self.pairs:
            torch._foreach_copy_(copies, buffers)

    def restore(self) -> None:
        for buffers, copies in self.pairs:
            torch._foreach_copy_(buffers, copies)


class Captured(Eager):
    """Steps a state by replaying graphs; it copies the given state once and owns the copy."""

    def __init__(self, engine: Engine, me: State, compiled_in: Path | None = None) -> None:
        """compiled_in: the folder for compiled steps; None to compile none"""
        super().__init__(engine, tree.map_leaves(torch.clone, me))
        self.compiled_in = compiled_in
        self.graphs: dict[tuple[object, ...], Recorded] = {}
        self._copies: Copies | None = None
        self._undo: Copies | None = None
        self._unsafe = False
        """whether overwriting the buffers would lose what a failed call must restore"""

    def step(self, new: Batch) -> Tensor:
        """One step on one stream batch; the loss, valid until the next step."""
        self._keep_buffers()
        if self.me.memory.filled < self.engine.method.settled_at(self.me):
            return super().step(new)
        key = (self.me.later, self.me.closed, new.x.shape)
        if key not in self.graphs:
            self.graphs[key] = self._record(new)
        recorded = self.graphs[key]
        recorded.new.x.copy_(new.x)
        recorded.new.y.copy_(new.y)
        recorded.replay()
        if self.engine.method.replays:
            self.me = replace(self.me, memory=self.me.memory.grown(new.y.shape[-1]))
        return recorded.loss

    def take(self, after: State) -> None:
        """Put a state into the buffers or, if a shape changed, into new ones without graphs."""
        if shapes(after) == shapes(self.me):
            self._keep_buffers()
            self.me = written(self.me, after)
        else:
            self.me, self.graphs = tree.map_leaves(torch.clone, after), {}
            self._copies, self._unsafe = None, False

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """Undo all steps inside the block if one fails.

        Graphs overwrite the buffers, so these are copied before the first change inside the block;
        a block that only lets images wait, as most calls with one image do, copies nothing.
        """
        before, graphs, self._unsafe = self.me, self.graphs, True
        try:
            yield
        except BaseException:
            if self._undo is not None:
                self._undo.restore()
                self._copies = self._undo
            self.me, self.graphs = before, graphs
            raise
        finally:
            self._undo, self._unsafe = None, False

    def _keep_buffers(self) -> None:
        if not self._unsafe:
            return
        if self._copies is None:
            self._copies = Copies.of(tree.leaves(self.me))
        self._copies.keep()
        self._undo, self._unsafe = self._copies, False

    def _record(self, new: Batch) -> Recorded:
        held, scratch = tree.map_leaves(torch.clone, (new, self.me))
        result = torch.zeros(new.y.shape[:-1], dtype=self.me.net.dtype, device=new.y.device)
        learn = self._learn(scratch, held)

        def step(me: State) -> None:
            after, loss = self.engine.stored(me, held, learn(me, held))
            copy_changed((me, result), (after, loss))

        return Recorded(recorded(partial(step, self.me), partial(step, scratch)), held, result)

    def _learn(self, me: State, new: Batch) -> Callable[[State, Batch], Learned]:
        """The pure part of a step, compiled only for full batches, as compiling takes a minute."""
        if self.compiled_in is None or new.y.shape[-1] != self.engine.method.stream_batch:
            return self.engine.learn
        return compiled(self.engine.learn, repr(self.engine.method), self.compiled_in, me, new)


def replayed(f: Turn, value: Any, zero: Tensor, times: int) -> Any:
    """`Engine.repeat` by a graph of one turn, for GDumb's training at test time."""
    if times == 0:
        return value
    held, scratch, turn = tree.map_leaves(torch.clone, (value, value, zero))

    def one_turn(value: Any, by: int) -> None:
        copy_changed(value, f(value, turn))
        turn.add_(by)

    replay = recorded(partial(one_turn, held, 1), partial(one_turn, scratch, 0))
    for _ in range(times):
        replay()
    return held


def recorded(work: Replay, rehearsal: Replay) -> Replay:
    """Capture `work`, which writes its results to existing tensors; returns the replay.

    `rehearsal` is the same work on scratch tensors, so that libraries choose their kernels.
    """
    with RECORDING:
        side = side_stream(torch.cuda.current_device())
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(REHEARSALS):
                rehearsal()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        # Other threads may use the device meanwhile.
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            work()
    return graph.replay


@cache
def side_stream(device: int) -> torch.cuda.Stream:
    """The stream of all rehearsals: libraries keep a workspace of 64 MiB per stream."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def shapes(me: State) -> dict[str, torch.Size]:
    return {name: leaf.shape for name, leaf in tree.named(me).items()}


def written(buffers: State, after: State) -> State:
    """A state in the buffers of another of the same shapes, with its own fixed parts."""
    copy_changed(buffers, after)
    tensors = tree.named(buffers)
    return tree.walk(lambda name, _: tensors[name], after)


def copy_changed(buffers: object, after: object) -> None:
    """Copy new tensors of a step over the old ones, in as few kernels as possible."""
    results = tree.named(after)
    pairs = [(old, results[name]) for name, old in tree.named(buffers).items()]
    changed = [(old, new) for old, new in pairs if old.data_ptr() != new.data_ptr()]
    overwritten = {storage(old) for old, _ in changed}
    by_layout: dict[tuple[object, ...], list[tuple[Tensor, Tensor]]] = {}
    for old, new in changed:
        # An older teacher that takes the last one's buffer needs it as it was.
        source = new.clone() if storage(new) in overwritten else new
        # One kernel copies many tensors, but only if all have the same layout.
        by_layout.setdefault((old.dtype, old.stride() == source.stride()), []).append((old, source))
    for same in by_layout.values():
        torch._foreach_copy_([old for old, _ in same], [new for _, new in same])


def storage(leaf: Tensor) -> int:
    """The memory that a tensor shares with its views."""
    return leaf.untyped_storage().data_ptr()
