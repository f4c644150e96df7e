"""The host runs few steps ahead of a GPU; a stand-in for CUDA events shows what it waits for."""

from __future__ import annotations

import pytest
import torch

from bison_ocl.engine.pace import AHEAD, Pace


def test_the_host_waits_for_the_oldest_of_too_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []

    class Event:
        made = 0

        def __init__(self, blocking: bool) -> None:
            self.number, Event.made = Event.made, Event.made + 1

        def record(self) -> None:
            pass

        def synchronize(self) -> None:
            waited.append(self.number)

    monkeypatch.setattr(torch.cuda, "Event", Event)
    pace = Pace()
    for _ in range(AHEAD):
        pace.queued()
    assert waited == []
    pace.queued()
    pace.queued()
    assert waited == [0, 1]
