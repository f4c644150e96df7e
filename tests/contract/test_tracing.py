"""The step can be captured: no host read, no constant made on the way, one graph for all tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from bison_ocl import tree
from bison_ocl.engine.step import Engine
from bison_ocl.methods.method import Method
from tests.contract.conftest import LENGTH, Moment, moments, recorded

FULL, LATER = 2, LENGTH
"""steps from which the memory is full, and the first task is over: code may branch on these two"""
HOST_READS_AND_CONSTANTS = ("lift_fresh", "_local_scalar_dense", "aten.item")


def pure_step(method: Method, moment: Moment) -> Callable[..., list[Tensor]]:
    """All of a step but the write into memory, from leaves to leaves."""

    def step(*values: Tensor) -> list[Tensor]:
        return tree.leaves(Engine(method)._learn(*tree.rebuilt(moment, values)))

    return step


@cache
def traced(method: Method, step: int) -> GraphModule:
    """The graph of a step, from fake tensors: without values, a host read shows or raises."""
    moment = recorded(method, 0)[step]
    return make_fx(pure_step(method, moment), tracing_mode="fake")(*tree.leaves(moment))


@pytest.mark.parametrize("step", [FULL, LATER])
def test_a_step_traces_without_host_reads_and_constants(method: Method, step: int) -> None:
    calls = [str(node.target) for node in traced(method, step).graph.nodes]
    assert not [call for call in calls if any(bad in call for bad in HOST_READS_AND_CONSTANTS)]


def test_a_step_stays_on_the_device_of_its_state(method: Method) -> None:
    """Meta tensors do not mix with those of the CPU, as a GPU's would not."""
    for moment in moments(method)[::2]:
        me, new = tree.map_leaves(lambda leaf: leaf.to("meta"), moment)
        learned = Engine(method)._learn(me, new)
        assert {leaf.device.type for leaf in tree.leaves(learned)} == {"meta"}


@pytest.mark.parametrize(("step", "until"), [(FULL, LATER), (LATER, None)])
def test_one_trace_replays_to_the_end(method: Method, step: int, until: int | None) -> None:
    """One graph for the first task once the memory is full, one for all later tasks together."""
    for moment in recorded(method, 0)[step:until]:
        values = tree.leaves(moment)
        replayed, eager = traced(method, step)(*values), pure_step(method, moment)(*values)
        for one, other in zip(replayed, eager, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


def test_a_step_keeps_the_form_of_its_state(method: Method) -> None:
    """Every leaf keeps its place, name, shape and dtype, so that fixed buffers can hold it."""

    def form(value: object) -> list[tuple[object, ...]]:
        return [(name, leaf.shape, leaf.dtype) for name, leaf in tree.named(value).items()]

    for me, new in moments(method):
        after, loss = Engine(method).step(me, new)
        assert form(after) == form(me) == form(Engine(method).end_task(after))
        assert loss.shape == ()
        assert not any(leaf.requires_grad for leaf in [loss, *tree.leaves(after)])
