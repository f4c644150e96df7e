"""What the memory holds: images of the stream, as bytes, in the rows in use and nowhere else."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from bison_ocl.engine.step import Engine
from bison_ocl.methods.gdumb.gdumb import GDumb
from bison_ocl.methods.method import Method
from bison_ocl.state import State
from tests.contract.conftest import CLASSES, LENGTH, TASKS, copied, course, held, moments
from tests.tiny import begin, held_out, same, snapshot


def picture(x: Tensor) -> bytes:
    return x.numpy().tobytes()


def test_rows_are_stream_images_with_their_labels(method: Method) -> None:
    label = {
        picture(x): int(y)
        for task in course(0)
        for batch in task
        for x, y in zip(batch.x, batch.y, strict=True)
    }
    assert len(label) == TASKS * LENGTH * method.stream_batch
    for me, _ in moments(method):
        memory = held(me).memory
        assert memory.filled == len(memory.y) <= me.memory.filled
        if not isinstance(method, GDumb):  # its policy may reject before the memory is full
            assert memory.filled == me.memory.filled
        assert [label.get(picture(x)) for x in memory.x] == memory.y.tolist()
        assert me.seen[memory.y].all()
    assert (memory.filled > 0) == method.replays


def poisoned(me: State, label: int) -> State:
    """A copy with rubbish in every row that holds no image, the spare one included."""
    me = copied(me)
    empty = slice(int(me.memory.used.sum()), None)
    me.memory.x[empty] = 255 - me.memory.x[empty]
    me.memory.y[empty] = label
    for rows in me.memory.fields.values():
        if rows.dtype == torch.bool:
            rows[empty] = ~rows[empty]
        else:
            rows[empty] = float("nan") if rows.is_floating_point() else label
    return me


@pytest.mark.parametrize("label", [10**6, -5, 0])
def test_rows_without_an_image_are_never_read(method: Method, label: int) -> None:
    engine, test = Engine(method), held_out(classes=CLASSES)
    for me, new in moments(method):
        bad = poisoned(me, label)
        assert torch.equal(engine.confusion(me, test), engine.confusion(bad, test))
        ends = snapshot(held(engine.end_task(me))), snapshot(held(engine.end_task(bad)))
        assert same(*ends)
        (good, loss), (bad, bad_loss) = engine.step(me, new), engine.step(bad, new)
        assert same(snapshot((held(good), loss)), snapshot((held(bad), bad_loss)))


def test_images_are_bytes_and_no_more_than_asked_for(method: Method) -> None:
    capacity, shape = 100, (3, 32, 32)
    memory = begin(method, capacity=capacity, shape=shape).memory
    row = 3 * 32 * 32
    assert memory.x.dtype == torch.uint8
    assert memory.capacity == (capacity if method.replays else 0)
    used = sum(part.numel() * part.element_size() for part in (memory.x, memory.y, memory.seen))
    assert used <= 1.01 * capacity * row + row
