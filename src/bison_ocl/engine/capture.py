"""The step as a CUDA graph: recorded once, replayed with the host out of the loop.

State lives in fixed buffers; a graph reads them, runs the very step of the engine, and ends by
copying what changed back into them. The memory is written in place anyway. A graph serves while no
shape changes: one for each batch size, before and after the end of the first task. Heads that grow
need new buffers and new graphs.
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
from bison_ocl.engine.step import Engine, Learned, Turn
from bison_ocl.state import State

REHEARSALS = 3
"""Before recording, so that nothing is chosen or allocated for the first time in a graph."""

RECORDING = threading.Lock()
"""One graph is recorded at a time in a process: all of them use PyTorch's one capture stream."""

Replay = Callable[[], None]


@dataclass(frozen=True)
class Recorded:
    """A graph and the buffers it reads and writes, beside the state's own."""

    replay: Replay
    new: Batch
    loss: Tensor


class Captured(Eager):
    """Steps a state by replaying graphs. The state handed in is copied once, then owned here."""

    def __init__(self, engine: Engine, me: State, compiled_in: Path | None = None) -> None:
        """compiled_in: the folder of compiled steps, if they are to be compiled at all"""
        super().__init__(engine, tree.map_leaves(torch.clone, me))
        self.compiled_in = compiled_in
        self.graphs: dict[tuple[object, ...], Recorded] = {}
        self._spare: State | None = None

    def step(self, new: Batch) -> Tensor:
        """One step on one stream batch; the loss, valid until the next step."""
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
            self.me = written(self.me, after)
        else:
            self.me, self.graphs = tree.map_leaves(torch.clone, after), {}

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """All that happens inside takes effect or, where it fails, none of it does.

        A graph writes over the whole state, so this begins by copying it.
        """
        if self._spare is None or shapes(self._spare) != shapes(self.me):
            self._spare = tree.map_leaves(torch.clone, self.me)
        before = self._spare = written(self._spare, self.me)
        try:
            yield
        except BaseException:
            self.take(before)
            raise

    def _record(self, new: Batch) -> Recorded:
        held, scratch = tree.map_leaves(torch.clone, (new, self.me))
        found = torch.zeros(new.y.shape[:-1], dtype=self.me.net.dtype, device=new.y.device)
        learn = self._learn(scratch, held)

        def step(me: State) -> None:
            after, loss = self.engine.stored(me, held, learn(me, held))
            copy_changed((me, found), (after, loss))

        return Recorded(recorded(partial(step, self.me), partial(step, scratch)), held, found)

    def _learn(self, me: State, new: Batch) -> Callable[[State, Batch], Learned]:
        """The pure part of a step; compiled for whole batches only, since it takes a minute."""
        if self.compiled_in is None or new.y.shape[-1] != self.engine.method.stream_batch:
            return self.engine.learn
        return compiled(self.engine.learn, repr(self.engine.method), self.compiled_in, me, new)


def replayed(f: Turn, value: Any, zero: Tensor, times: int) -> Any:
    """`Engine.repeat` by a graph of one turn. (GDumb trains a network so, whenever it is asked.)"""
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
    """The replay of a graph of `work`, which leaves what it finds in tensors that exist.

    `rehearsal` is the same work on scratch tensors, in which libraries choose their kernels.
    """
    with RECORDING:
        side = side_stream(torch.cuda.current_device())
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(REHEARSALS):
                rehearsal()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        # Other threads may go on with what they do on the device meanwhile.
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            work()
    return graph.replay


@cache
def side_stream(device: int) -> torch.cuda.Stream:
    """The stream of all rehearsals: each one that libraries see costs a workspace of 64 MiB."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def shapes(me: State) -> dict[str, torch.Size]:
    return {name: leaf.shape for name, leaf in tree.named(me).items()}


def written(buffers: State, after: State) -> State:
    """A state in the buffers of another of the same shapes; its fixed parts are as they are."""
    copy_changed(buffers, after)
    tensors = tree.named(buffers)
    return tree.walk(lambda name, _: tensors[name], after)


def copy_changed(buffers: object, after: object) -> None:
    """Write the tensors that a step made anew over the old ones, in as few kernels as it takes."""
    alike: dict[tuple[object, ...], list[tuple[Tensor, Tensor]]] = {}
    made = tree.named(after)
    for name, old in tree.named(buffers).items():
        new = made[name]
        if old.data_ptr() != new.data_ptr():
            # One kernel copies many tensors, but none of them if a single one lies otherwise.
            alike.setdefault((old.dtype, old.stride() == new.stride()), []).append((old, new))
    for pairs in alike.values():
        torch._foreach_copy_([old for old, _ in pairs], [new for _, new in pairs])
