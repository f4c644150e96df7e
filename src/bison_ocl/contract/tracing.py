"""A step can be captured as a graph: no host reads, no host constants, fixed shapes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from bison_ocl import tree
from bison_ocl.contract.moments import LENGTH, Moment, demand, moments, recorded
from bison_ocl.engine.step import Engine
from bison_ocl.methods.method import Method

FULL, LATER = 2, LENGTH
"""steps after which the memory is full and the first task is over; code may branch on these"""
HOST_READS_AND_CONSTANTS = ("lift_fresh", "_local_scalar_dense", "aten.item")


def pure_step(method: Method, moment: Moment) -> Callable[..., list[Tensor]]:
    """A step without its memory write, from leaves to leaves."""

    def step(*values: Tensor) -> list[Tensor]:
        return tree.leaves(Engine(method)._learn(*tree.rebuilt(moment, values)))

    return step


@cache
def traced(method: Method, step: int) -> GraphModule:
    """The graph of a step on fake tensors, where a host read shows or raises."""
    moment = recorded(method, 0)[step]
    return make_fx(pure_step(method, moment), tracing_mode="fake")(*tree.leaves(moment))


def host_reads(method: Method) -> None:
    """A step reads no number on the host and creates no constant there."""
    for step in (FULL, LATER):
        calls = [str(node.target) for node in traced(method, step).graph.nodes]
        bad = [call for call in calls if any(name in call for name in HOST_READS_AND_CONSTANTS)]
        demand(not bad, f"a step calls {', '.join(dict.fromkeys(bad))}")


def device(method: Method) -> None:
    """A step stays on the device of its state."""
    for moment in moments(method)[::2]:  # like a GPU's, meta tensors do not mix with the CPU's
        me, new = tree.map_leaves(lambda leaf: leaf.to("meta"), moment)
        kinds = {leaf.device.type for leaf in tree.leaves(Engine(method)._learn(me, new))}
        demand(kinds == {"meta"}, "a step makes tensors on the CPU: give device=...")


def one_graph(method: Method) -> None:
    """From `settled_at` rows on, one graph serves the first task and one all later tasks."""
    complaint = "a graph differs from the hooks: they count calls, or shapes change: see settled_at"
    for step, until in ((settled(method), LATER), (LATER, None)):
        for moment in recorded(method, 0)[step:until]:
            values = tree.leaves(moment)
            replayed, eager = traced(method, step)(*values), pure_step(method, moment)(*values)
            for one, other in zip(replayed, eager, strict=True):
                torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14, msg=complaint)


def settled(method: Method) -> int:
    """The first step that an engine captures."""
    run = [me for me, _ in recorded(method, 0)]
    steps = [i for i, me in enumerate(run) if me.memory.filled >= method.settled_at(me)]
    demand(bool(steps), "settled_at exceeds the capacity: no step would ever be captured")
    return steps[0]


def form(value: object) -> list[tuple[object, ...]]:
    """Name, shape and type of every tensor of a tree."""
    return [(name, leaf.shape, leaf.dtype) for name, leaf in tree.named(value).items()]


def fixed_form(method: Method) -> None:
    """Every tensor of a state keeps its name, shape and type."""
    for me, new in moments(method):
        after, loss = Engine(method).step(me, new)
        demand(form(after) == form(me), "a step changes the form of a state")
        demand(form(Engine(method).end_task(after)) == form(me), "end_task changes the form")
        grown = any(leaf.requires_grad for leaf in [loss, *tree.leaves(after)])
        demand(not grown, "a state takes its graph of gradients along")
