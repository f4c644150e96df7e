"""The tiny world of the contract, and what only tests need of it: known features, set weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl import tree
from bison_ocl.contract.world import (
    CLASSES,
    SHAPE,
    TASKS,
    Tiny,
    begin,
    held_out,
    images,
    labelled,
    same,
    snapshot,
    stream,
    train,
)
from bison_ocl.engine.capture import Replay
from bison_ocl.nets.net import Net
from bison_ocl.nets.norm import Mode
from bison_ocl.rng import Key
from bison_ocl.state import State

__all__ = [
    "CLASSES",
    "SHAPE",
    "TASKS",
    "Flat",
    "Tiny",
    "begin",
    "flat_images",
    "held_out",
    "images",
    "labelled",
    "readable",
    "same",
    "size",
    "snapshot",
    "stream",
    "train",
    "with_params",
    "without_a_graph",
]


@dataclass(frozen=True)
class Flat:
    """The pixels themselves as features, through a matrix that starts as the identity."""

    features: int
    shares_passes = False

    def parameters(self, key: Key) -> dict[str, Tensor]:
        return {"weight": torch.eye(self.features)}

    def statistics(self, params: dict[str, Tensor]) -> dict[str, Tensor]:
        return {}

    def __call__(
        self,
        params: dict[str, Tensor],
        stats: dict[str, Tensor],
        x: Tensor,
        mode: Mode,
        parts: int = 1,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        return F.linear(x.flatten(1), params["weight"]), {}


def flat_images(rows: list[list[float]]) -> Tensor:
    """Feature vectors as float64 images [B, 1, 1, d] for the Flat backbone."""
    return torch.tensor(rows, dtype=torch.float64)[:, None, None, :]


def with_params(net: Net, part: str, **values: Any) -> Net:
    """The same network with some parameters set by hand."""
    fresh = {name: torch.as_tensor(value, dtype=net.dtype) for name, value in values.items()}
    assert all(net.params[part][name].shape == value.shape for name, value in fresh.items())
    return replace(net, params=net.params | {part: net.params[part] | fresh})


def size(value: object) -> int:
    """How many numbers a tree holds."""
    return sum(prod(leaf.shape) for leaf in tree.leaves(value))


def readable(me: State) -> dict[str, Tensor]:
    """A state, or a stack of them, but for the memory's spare row, which is undefined."""
    memory = replace(me.memory, x=me.memory.x[..., :-1, :, :, :], y=me.memory.y[..., :-1])
    return tree.named(replace(me, memory=memory))


def without_a_graph(work: Replay, rehearsal: Replay) -> Replay:
    """Stands in for `capture.recorded`: records nothing, and rehearsals must leave no trace."""
    rehearsal()
    return work
