"""A limit on the memory that a test may take, so that a bomb fails instead of filling a machine."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MOST = 1 << 30


@contextmanager
def little_memory(most: int = MOST) -> Iterator[None]:
    """Let this process have at most so many bytes more; then comes MemoryError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
