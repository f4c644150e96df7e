"""Repeat the run of a record and compare the two."""

from __future__ import annotations

from pathlib import Path

import torch

from bison_ocl.errors import UserError, reason
from bison_ocl.experiments.records import results as records
from bison_ocl.experiments.records.digests import differ
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.train.backbones import NAME
from bison_ocl.experiments.train.runner import Job, Say, Watch, run
from bison_ocl.methods import METHODS
from bison_ocl.methods.outside import check_source, source_of
from bison_ocl.nets.precision import checked_precision

NUMBERS = ("accuracy", "also", "confusion", "anytime", "losses", "log")
"""What a record measured; older ones lack some."""


def chosen(place: str) -> Record:
    """The record at FILE:LINE, or the only one of FILE."""
    file, _, line = place.rpartition(":")
    path, number = (Path(file), int(line)) if file and line.isdecimal() else (Path(place), None)
    try:
        there = path.is_file()
    except OSError as error:
        raise UserError(f"cannot read {path}: {reason(error)}") from error
    if not there:
        raise UserError(f"no file {path}: give FILE:LINE, such as runs/results.jsonl:3")
    lines = records.contents(path).splitlines()
    if not lines:
        raise UserError(f"{path} holds no records: train a run first")
    if number is None and len(lines) != 1:
        raise UserError(f"{path} holds {len(lines)} records: give {path}:1 to :{len(lines)}")
    number = 1 if number is None else number
    if not 1 <= number <= len(lines):
        raise UserError(f"{path} has no line {number}: the last is {len(lines)}")
    return records.parse(lines[number - 1], path, number)


def check_known(record: Record, place: str, method: str | None) -> None:
    """Refuse the record of a method from outside, unless the user has named that method."""
    if record.method not in METHODS and method != record.method:
        advice = "add --method path/to/file.py:Class"
        raise UserError(f"{place} is of the method {record.method!r} from outside: {advice}")
    check_source(record.method_source, record.method, place)
    if (named := record.settings.get(NAME)) is not None:
        raise UserError(f"{place} has the backbone {named}: repeat it by run --backbone {named}")


def job_of(record: Record, out: Path, device: str, data_dir: Path | None) -> Job:
    """The job that trains the run of a record."""
    return Job(
        record.method,
        record.data,
        record.memory,
        [record.seed],
        record.settings,
        out,
        device=device,
        stream=record.stream,
        data_dir=data_dir,
        data_options=record.data_options,
        also=tuple(record.also),
        precision=checked_precision(record.precision),
        resume=True,
        seeds_at_once=1,
        compiling=record.timing.compiled,
        source=source_of(record.method),
    )


def rerun(
    record: Record, out: Path, device: str, data_dir: Path | None, watch: Watch, say: Say
) -> Record:
    """The new record; on CPU with as many threads as the old one."""
    job = job_of(record, out, device, data_dir)
    if any(one.identity == record.identity for one in records.read_complete(job.results)):
        raise UserError(f"{job.results} already holds this run: choose another --out")
    if device == "cpu":
        torch.set_num_threads(record.environment.threads)
    (again,) = run(job, watch, say)
    return again


def compared(before: Record, after: Record) -> str:
    """Whether two records of one run agree, and if not, what could be the reason."""
    other = [name for name in NUMBERS if differs(name, before, after)]
    if not other and not differ(before, after):
        return "identical to the last digit"
    pairs = [(record.environment, record.commit) for record in (before, after)]
    then, now = ({**vars(environment), "commit": commit} for environment, commit in pairs)
    reasons = [
        f"{name} {then.get(name)} is now {value}"
        for name, value in now.items()
        if then.get(name) != value
    ]
    together = before.timing.seeds_at_once
    reasons += ["the images changed"] * differ(before, after)
    reasons += [f"it was trained among {together} seeds and is now alone"] * (together != 1)
    AA = [100 * record.metrics.AA for record in (before, after)]
    more = f", {', '.join(other)} differ" if other else ""
    why = "; ".join(reasons) or "the cause is unknown"
    return f"AA was {AA[0]:.2f} % and is {AA[1]:.2f} %{more}: {why}"


def differs(name: str, before: Record, after: Record) -> bool:
    """Whether a re-run measured something else than the earlier record kept."""
    kept = getattr(before, name)
    return kept is not None and bool(kept != getattr(after, name))
