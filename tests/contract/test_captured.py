"""What `capture.py` does around its graphs, with a stand-in for them: work done again and again."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest
import torch

from bison_ocl.engine import capture
from bison_ocl.engine.capture import Captured, copy_changed, replayed
from bison_ocl.engine.capture import recorded as really_recorded
from bison_ocl.engine.eager import Eager
from bison_ocl.engine.step import Engine
from bison_ocl.methods.method import Method
from tests.tiny import begin, same, snapshot, stream, without_a_graph


@pytest.fixture(autouse=True)
def _no_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "recorded", without_a_graph)


def test_replayed_steps_are_the_engines_steps(method: Method) -> None:
    engine = Engine(method)
    eager, captured = Eager(engine, begin(method)), Captured(engine, begin(method))
    for task in stream(0):
        for new in task:
            assert torch.equal(captured.step(new), eager.step(new))
            assert same(snapshot(captured.me), snapshot(eager.me))
            assert captured.me.memory.filled == eager.me.memory.filled
        eager.end_task()
        captured.end_task()
    assert {later for later, *_ in captured.graphs} == {False, True}


def test_the_state_handed_in_stays_as_it_was(method: Method) -> None:
    me = begin(method)
    before, captured = snapshot(me), Captured(Engine(method), me)
    for new in stream(0)[0]:
        captured.step(new)
    assert same(snapshot(me), before)


@pytest.mark.parametrize("order", [["teacher", "older", "bias"], ["bias", "older", "teacher"]])
def test_a_buffer_may_take_what_another_one_held(order: list[str]) -> None:
    """A method may shift its teachers when a task ends, or keep a view of the last one."""
    held = {
        "teacher": torch.tensor([1, 2]),
        "older": torch.zeros(2).long(),
        "bias": torch.tensor(0),
    }
    after = {"teacher": torch.tensor([3, 4]), "older": held["teacher"], "bias": held["teacher"][1]}
    copy_changed({name: held[name] for name in order}, after)
    found = {name: leaf.tolist() for name, leaf in held.items()}
    assert found == {"teacher": [3, 4], "older": [1, 2], "bias": 2}


def test_all_rehearsals_share_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = MagicMock()
    monkeypatch.setattr(torch, "cuda", cuda)
    capture.side_stream.cache_clear()
    for _ in range(3):
        really_recorded(lambda: None, lambda: None)
    capture.side_stream.cache_clear()
    assert cuda.Stream.call_count == 1


def test_turns_are_counted_and_rehearsals_are_not() -> None:
    start, zero = torch.tensor([5]), torch.tensor(0)
    found = replayed(lambda value, turn: value * 2 + turn, start, zero, 3)
    assert found.tolist() == [((5 * 2 + 0) * 2 + 1) * 2 + 2]
    assert (start.tolist(), int(zero)) == ([5], 0)
    assert replayed(lambda value, turn: value + 1, start, zero, 0) is start
