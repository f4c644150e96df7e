"""The record of a short run of BISON, which logs α and η."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from bison_ocl.experiments.carry.work import attempt
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.train.runner import Job


@cache
def record() -> Record:
    settings = {"filters": "2", "stream_batch": "20"}
    with TemporaryDirectory() as folder:
        job = Job("bison", "split-digits", 20, [3], settings, Path(folder), also=("ncm",))
        (found,) = attempt(job).records
    return found
