"""What hooks return fits the state: one loss, known names, a slot for each image."""

from __future__ import annotations

from dataclasses import replace

from bison_ocl.batch import Batch
from bison_ocl.contract.moments import demand, walk
from bison_ocl.contract.tracing import form
from bison_ocl.engine.step import Engine
from bison_ocl.memory.memory import Memory, Write
from bison_ocl.methods.method import Method
from bison_ocl.state import State


def step(method: Method) -> None:
    """A step returns one loss, all gradients, declared extras and fields, a slot for each image."""

    def visit(me: State, new: Batch) -> None:
        check_update(method, me, new)
        write = Engine(method).learn(me, new).write
        if write is not None:
            check_write(write, me.memory, len(new))

    walk(method, 0, visit)


def check_update(method: Method, me: State, new: Batch) -> None:
    """Fail the check unless the engine can apply what `update` returns."""
    update = method.update(replace(me.meet(new.y), net=me.net.copy()), new)
    shape = list(update.loss.shape)
    demand(not shape, f"the loss has shape {shape}: return one number, such as a mean")
    demand(form(update.grads) == form(me.net.params), "the gradients are not of all parameters")
    unknown = ", ".join(sorted(update.extra.keys() - me.extra.keys()))
    demand(not unknown, f"a step returns the extra {unknown}, which `extra` does not declare")


def check_write(write: Write, memory: Memory, images: int) -> None:
    """Fail the check unless the memory can hold what `store` returns."""
    shape, fields = list(write.slots.shape), ", ".join(memory.fields) or "none"
    demand(shape == [images], f"`store` returns slots of shape {shape} for {images} images")
    inside = bool(((write.slots >= 0) & (write.slots <= memory.capacity)).all())
    demand(inside, f"`store` returns a slot outside 0..{memory.capacity}, the spare one")
    kept = write.slots[write.slots < memory.capacity].tolist()
    demand(len(set(kept)) == len(kept), "`store` gives two images one slot: see later_wins")
    same = write.fields.keys() == memory.fields.keys()
    found = ", ".join(write.fields) or "none"
    demand(same, f"a step writes the fields {found}, but `fields` declares {fields}")
