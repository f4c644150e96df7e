"""The engines by name, each with the options it needs."""

from __future__ import annotations

from functools import partial

from bison_ocl.errors import UserError
from bison_ocl.experiments.reproduce import Carry


def engine_named(
    name: str, together: bool, alone: bool, processes: int | None, address: str | None
) -> Carry:
    """`local` or `ray`. together: seeds of a unit share a GPU; alone: nothing may run beside it."""
    if name not in ("local", "ray"):
        raise UserError(f"--engine {name}: choose local or ray")
    if address is not None and name != "ray":
        raise UserError("--address is that of a Ray cluster: add --engine ray")
    if name == "ray":
        if alone:
            raise UserError("this item measures one machine: leave out --engine ray")
        from bison_ocl.experiments import cluster

        return partial(cluster.carry_out, address=address)
    from bison_ocl.experiments import local

    at_once = 1 if together else processes or local.cores()
    return partial(local.carry_out, processes=at_once, warm_up=alone)
