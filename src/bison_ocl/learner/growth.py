"""Rows of classes in a state: heads that grow, and classes that become unseen again."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.nets.average import flat
from bison_ocl.state import State


def grown(me: State, larger: State) -> State:
    """The state with larger heads: existing rows unchanged, new rows at their initial values."""
    after = tree.paste(replace(me, average=None), larger)
    if me.average is None:
        return after
    # The average is a vector; paste it in the form of its network.
    return replace(after, average=flat(tree.paste(me.averaged().net, larger.net)))


def unlearned(me: State, fresh: State, wider: State, numbers: list[int]) -> State:
    """The state with some classes as in a fresh one: heads, moments, extras, fields of rows.

    wider: a state with more classes, whose shapes show which axes are of classes.
    """
    first, shapes = tree.named(fresh), {n: leaf.shape for n, leaf in tree.named(wider).items()}
    index = torch.tensor(numbers, device=me.seed.device)

    def reset(path: str, leaf: Tensor) -> Tensor:
        for axis, size in enumerate(shapes.get(path, leaf.shape)):
            if size != leaf.shape[axis]:
                leaf = leaf.index_copy(axis, index, first[path].index_select(axis, index))
        return leaf

    after = tree.walk(reset, replace(me, average=None))
    if me.average is None:
        return after
    # The average is a vector; reset it in the form of its network.
    return replace(after, average=flat(tree.walk(reset, {"net": me.averaged().net})["net"]))
