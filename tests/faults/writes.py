"""A disk that is full or fails, at every write of a run in turn."""

from __future__ import annotations

import errno
import os
import random
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bison_ocl.errors import UserError
from bison_ocl.experiments.carry.work import unwatched
from bison_ocl.experiments.train.runner import run
from bison_ocl.files import durable
from tests.digits import few, use
from tests.experiments.disk import failing
from tests.faults.kills import compared, job
from tests.faults.outcome import Outcome

ENOUGH = 10**9
"""a call that no run comes to"""


def go(out: Path) -> None:
    run(job(out, [0]), unwatched, lambda _: None)


def failing_writes(code: int, for_good: bool, count: int, seed: int) -> Outcome:
    """Let calls that change the disk fail, one in each run, or all from there on.

    A count above the number of calls: each of them. The run must end in one line, and resumed
    without the trouble as one that was left alone.
    """
    outcome = Outcome()
    error = OSError(code, os.strerror(code))
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        use(patch, few)
        whole = Path(folder, "whole")
        with failing(ENOUGH, error) as found:
            go(whole)
        calls = range(1, len(found.calls) + 1)
        chosen = random.Random(seed).sample(calls, min(count, len(calls)))
        for at in sorted(chosen):
            out = Path(folder, str(at))
            outcome.add(*verdict(out, whole, at, error, for_good))
            outcome.made += 1
    return outcome


def verdict(out: Path, whole: Path, at: int, error: OSError, for_good: bool) -> tuple[str, str]:
    """What became of a run whose call number `at` failed."""
    said = ""
    try:
        with failing(at, error, for_good):
            go(out)
    except UserError as told:
        said = str(told)
    except Exception as other:
        return "crashed", f"call {at}: {other!r}"
    if "\n" in said:
        return "refused in several lines", said
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(durable, "is_gone", lambda _: True)  # a later process goes on
        go(out)
    same = compared(out, whole, [0])
    if same != "bit-equal":
        return same, f"call {at}: {said}"
    return ("stopped, kept" if said else "bit-equal"), ""


full_disk = partial(failing_writes, errno.ENOSPC, True)
write_errors = partial(failing_writes, errno.EIO, False)
