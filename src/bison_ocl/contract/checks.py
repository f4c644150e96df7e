"""All checks of the contract, and their results for a method."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from inspect import getdoc, getmodule

from bison_ocl.contract import (
    executions,
    learning,
    memory,
    pure,
    repeatable,
    returned,
    settings,
    tracing,
)
from bison_ocl.methods.method import Method
from bison_ocl.methods.outside import one_line

Check = Callable[[Method], None]

CHECKS: tuple[Check, ...] = (
    *(settings.declared, settings.presets, returned.step, settings.read),
    *(executions.step_of_many, executions.end_of_task_of_many, executions.scores_of_many),
    *(executions.seed_among_others, executions.seeds_in_turn),
    *(repeatable.repeated, repeatable.resumed),
    *(pure.predicting, pure.images_alone, pure.unseen_classes, pure.steps_and_ends),
    *(memory.stream_images, memory.empty_rows),
    *(tracing.host_reads, tracing.device, tracing.one_graph, tracing.fixed_form),
    *(learning.beats_chance, learning.grows, learning.keeps_growing),
)


def promise(check: Check) -> str:
    """The promise that a check verifies, as one line."""
    return (getdoc(check) or "").partition("\n")[0].removesuffix(".")


def fault(check: Check, method: Method) -> str | None:
    """The violation that a check finds, as one line; None if it passes.

    A method may raise anything. Warnings count too: vmap warns when it falls back to a loop.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            check(method)
        except Exception as error:
            return one_line(error, getattr(getmodule(type(method)), "__file__", None))
    return None


def results(method: Method) -> Iterator[tuple[str, str | None]]:
    """Each promise of the contract, and its violation, if any."""
    for check in CHECKS:
        yield promise(check), fault(check, method)
