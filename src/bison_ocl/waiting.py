"""Limit the active waiting of OpenMP threads, set before torch is loaded.

GNU's OpenMP runtime, part of torch's wheels for Linux, lets a thread spin 300,000 times before it
sleeps. Next to other programs it then spins for a thread without a core, and a step takes many
times as long. The number of spins here costs nothing on an idle machine and little on a busy one;
benchmarks/busy.py measures it. The number of threads never depends on the load, because results
depend on it.
"""

from __future__ import annotations

import os
import sys

SPINS = "10000"
SAID_BY_THE_USER = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


def wait_briefly() -> None:
    """Limit the active waiting of this process, unless torch is loaded or the user set a limit."""
    if "torch" not in sys.modules and not any(name in os.environ for name in SAID_BY_THE_USER):
        os.environ["GOMP_SPINCOUNT"] = SPINS
