"""Grow heads: paste a state into a fresh one with larger heads."""

from __future__ import annotations

from dataclasses import replace

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
