"""Threads that need float32 rounded in one way neither undo it for each other nor leave it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from bison_ocl.engine.rounding import Rounding, flags, set_flags


@pytest.fixture(autouse=True)
def as_found() -> Iterator[None]:
    before = flags()
    set_flags(True, True)
    yield
    set_flags(*before)


def test_the_last_to_leave_restores_what_the_first_found() -> None:
    rounding, inside, leave = Rounding(), threading.Event(), threading.Event()

    def other() -> None:
        with rounding.chosen("fp32"):
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    with rounding.chosen("fp32"):
        thread.start()
        assert inside.wait(60)
    assert flags() == (False, False), "the other thread still needs it"
    leave.set()
    thread.join()
    assert flags() == (True, True)


def test_a_failure_restores_and_nesting_keeps() -> None:
    rounding = Rounding()
    with pytest.raises(KeyError), rounding.chosen("tf32"), rounding.chosen("fp32"):
        raise KeyError
    assert flags() == (True, True)
    with rounding.chosen("tf32"):
        assert flags() == (True, False)
