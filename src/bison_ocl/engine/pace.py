"""A limit on how far the host runs ahead of a GPU.

Steps are queued faster than a GPU takes them. A full queue blocks the threads that predict, too,
and a snapshot would wait for all of it.
"""

from __future__ import annotations

from collections import deque

import torch

AHEAD = 2
"""steps that may be queued: one runs, one is ready when it ends"""


class Pace:
    """The steps that a thread queued on a GPU and that may not have ended."""

    def __init__(self) -> None:
        self._queued: deque[torch.cuda.Event] = deque()

    def queued(self) -> None:
        """Note that a step was queued; wait, without the GIL, while there are too many."""
        event = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        event.record()
        self._queued.append(event)
        while len(self._queued) > AHEAD:
            self._queued.popleft().synchronize()
