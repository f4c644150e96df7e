"""Heads that grow: a state in the corner of a fresh one with larger heads."""

from __future__ import annotations

from dataclasses import replace

from bison_ocl import tree
from bison_ocl.nets.average import flat
from bison_ocl.state import State


def grown(me: State, larger: State) -> State:
    """The state with the heads of a larger one: known rows as they are, fresh rows as born."""
    after = tree.paste(replace(me, average=None), larger)
    if me.average is None:
        return after
    # A vector has no corner: the average is pasted as the network it is.
    return replace(after, average=flat(tree.paste(me.averaged().net, larger.net)))
