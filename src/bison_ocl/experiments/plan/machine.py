"""This machine, as estimates see it: its cores, and the time of a step of ER as last measured.

`reproduce --plan` measures; a small file in the cache folder lets `reproduce --list` answer at
once.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bison_ocl.data.storage.places import cache_folder
from bison_ocl.errors import UserError
from bison_ocl.files.durable import write_atomically

if TYPE_CHECKING:
    from bison_ocl.nets.precision import Precision


@dataclass(frozen=True)
class Rate:
    """Seconds per step of one run of ER: among stacked seeds, and alone."""

    device: str
    precision: str
    step: float
    alone: float
    day: str

    @property
    def words(self) -> str:
        stacked = f" per seed with ten at once, {1e3 * self.alone:.3g} ms alone"
        on_gpu = stacked if self.device == "cuda" else ""
        return f"a step of ER takes {1e3 * self.step:.3g} ms{on_gpu}, measured {self.day}"


def measured(device: str, precision: Precision) -> Rate:
    """The rate now, also kept for later commands."""
    from bison_ocl.experiments.plan.costs import seconds_of_a_step

    step = seconds_of_a_step(device, precision)
    alone = seconds_of_a_step(device, precision, alone=True) if device == "cuda" else step
    rate = Rate(device, precision, step, alone, time.strftime("%Y-%m-%d"))
    kept = [one for one in saved_rates() if (one.device, one.precision) != (device, precision)]
    data = json.dumps([asdict(one) for one in (*kept, rate)], indent=1).encode()
    with suppress(UserError):  # a folder that cannot be written costs the next command an estimate
        write_atomically(rates_file(), data)
    return rate


def last(device: str, precision: str) -> Rate | None:
    """The last measured rate of a device and precision; auto: of any device, a GPU first."""
    alike = [one for one in saved_rates() if one.precision == precision]
    chosen = [one for one in alike if device in ("auto", one.device)]
    return max(chosen, key=lambda one: one.device == "cuda", default=None)


def saved_rates() -> list[Rate]:
    """All rates on file; none if the file is missing or damaged."""
    try:
        return [Rate(**one) for one in json.loads(rates_file().read_text("utf-8"))]
    except (OSError, ValueError, TypeError):
        return []


def rates_file() -> Path:
    return cache_folder() / "steps.json"


def cores() -> int:
    """The number of CPU cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usual_processes(device: str) -> int:
    """One per core; one on a GPU, which trains seeds together."""
    return 1 if device == "cuda" else cores()
