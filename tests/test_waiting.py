"""Threads wait actively for a moment only, unless the user or an imported torch says otherwise."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from bison_ocl.waiting import SPINS

NAMES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
SHOW = f"import json, os; print(json.dumps([os.environ.get(name) for name in {NAMES}]))"


@pytest.mark.parametrize(
    ("before", "said", "found"),
    [
        ("", {}, [SPINS, None]),
        ("", {"GOMP_SPINCOUNT": "5"}, ["5", None]),
        ("", {"OMP_WAIT_POLICY": "active"}, [None, "active"]),
        ("import sys; sys.modules['torch'] = sys; ", {}, [None, None]),
    ],
)
def test_the_environment_of_torch(before: str, said: dict[str, str], found: list[str]) -> None:
    others = {name: value for name, value in os.environ.items() if name not in NAMES}
    done = subprocess.run(
        [sys.executable, "-c", f"{before}import bison_ocl; {SHOW}"],
        env=others | said,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == found
