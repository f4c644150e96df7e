"""How long the threads of an operator wait actively for each other, set before torch is loaded.

GNU's OpenMP runtime, which torch's wheels for Linux bring, lets a thread spin 300,000 times before
it sleeps. Beside other programs it then spins for a thread that has no core, and a step takes many
times as long. So many spins as here cost nothing on an idle machine and little beside others;
benchmarks/busy.py measures it. The number of threads never depends on the load, for results depend
on it.
"""

from __future__ import annotations

import os
import sys

SPINS = "10000"
SAID_BY_THE_USER = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


def wait_briefly() -> None:
    """Bound the active waiting of this process, unless torch is loaded or the user says how."""
    if "torch" not in sys.modules and not any(name in os.environ for name in SAID_BY_THE_USER):
        os.environ["GOMP_SPINCOUNT"] = SPINS
