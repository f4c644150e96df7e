"""Split a plan into units of work: one per missing run, or one per cell on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from bison_ocl.experiments.plan.paper import Cell
from bison_ocl.experiments.plan.plan import Plan
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.experiments.train.runner import Job, specs_of
from bison_ocl.methods.outside import source_of
from bison_ocl.methods.settings import configured


class Options(TypedDict, total=False):
    """Options that all jobs of a plan share."""

    device: str
    precision: str
    compiling: bool
    data_dir: Path | None
    data_options: dict[str, Any]
    checkpoint_every: float
    seeds_at_once: int | None
    backbone: str | None


def jobs(plan: Plan, work: Path, **options: Unpack[Options]) -> list[Job]:
    """One job per cell, over all seeds."""
    if plan.item.alone:
        options["seeds_at_once"] = 1
    return [job_of(cell, plan.seeds, work, **options) for cell in plan.cells]


def job_of(cell: Cell, seeds: Sequence[int], out: Path, **options: Unpack[Options]) -> Job:
    return Job(
        cell.method,
        cell.data,
        cell.memory,
        seeds,
        dict(cell.settings),
        out,
        stream=cell.stream,
        also=cell.also,
        source=source_of(cell.method),
        **options,
    )


def specs(job: Job) -> list[Spec]:
    """The identities of a planned job's runs; the paper names streams in canonical form."""
    return specs_of(job, configured(job.method, job.data, job.settings), job.stream)


def units(job: Job, left: Sequence[Spec], together: bool) -> list[Job]:
    """The missing seeds of a job as units, one per seed or all together, each with a folder."""
    if not left:
        return []
    if together:
        seeds = [spec.seed for spec in left]
        return [replace(job, seeds=seeds, out=job.out / shared_name(left[0]))]
    return [replace(job, seeds=[spec.seed], out=job.out / spec.name) for spec in left]


def shared_name(spec: Spec) -> str:
    """The folder of a unit with several seeds, independent of which ones are missing."""
    return replace(spec, seed=0).name.replace("-s0-", "-seeds-")
