"""Train the seeds of one job: skip finished runs, resume interrupted ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bison_ocl.data import load
from bison_ocl.data.dataset import Dataset
from bison_ocl.data.storage.places import cache_folder
from bison_ocl.engine.execution import is_cuda
from bison_ocl.errors import UserError
from bison_ocl.experiments.records import results as records
from bison_ocl.experiments.records.digests import differ, digests
from bison_ocl.experiments.records.ledger import by_identity, check_versions, looked_up
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.records.spec import PLAIN, Spec
from bison_ocl.experiments.train import devices
from bison_ocl.experiments.train.also import check_also
from bison_ocl.experiments.train.backbones import NAME, check_backbone
from bison_ocl.experiments.train.group import Group
from bison_ocl.experiments.train.grouping import bytes_of_one, fitting, in_step
from bison_ocl.experiments.train.run import Run, Saving, Watcher
from bison_ocl.files.checkpoint import DamagedFile
from bison_ocl.files.durable import check_writable, settle, write_errors
from bison_ocl.files.lock import claimed
from bison_ocl.methods.method import Method
from bison_ocl.methods.outside import MethodFile, register_file
from bison_ocl.methods.settings import configured, settings_of
from bison_ocl.methods.start import check_memory
from bison_ocl.nets.precision import checked_precision
from bison_ocl.stream.streams import DEFAULT, parse, stream_of

Watch = Callable[[Run], AbstractContextManager[Watcher]]
Say = Callable[[str], None]
OnRecord = Callable[[Record], None]


@dataclass(frozen=True)
class Job:
    """One method on one dataset, over several seeds, with its results in one folder."""

    method: str
    data: str
    memory: int
    seeds: Sequence[int]
    settings: dict[str, str]
    out: Path
    device: str = "cpu"
    resume: bool = False
    checkpoint_every: float = 30.0
    save_model: bool = False
    stream: str = DEFAULT
    data_dir: Path | None = None
    data_options: dict[str, Any] = field(default_factory=dict)
    also: Sequence[str] = ()
    seeds_at_once: int | None = None
    """None: as many as fit on a GPU, one on a CPU"""
    share: float = 1.0
    """fraction of the GPU's memory, shared with other processes"""
    precision: str = PLAIN
    compiling: bool = False
    """whether to compile steps on a GPU, or load compiled ones"""
    source: MethodFile | None = None
    """the file of a method from outside the package"""
    backbone: str | None = None
    """package.module:factory or timm:NAME; None for the method's own network"""

    @property
    def results(self) -> Path:
        return self.out / records.RESULTS

    @property
    def checkpoints(self) -> Path:
        return self.out / "checkpoints"

    def checkpoint(self, spec: Spec) -> Path:
        return self.checkpoints / f"{spec.name}.safetensors"

    def model(self, spec: Spec) -> Path:
        return self.out / "models" / f"{spec.name}.safetensors"


def run(job: Job, watch: Watch, say: Say, on_record: OnRecord | None = None) -> list[Record]:
    """The records of all seeds asked for, including those finished earlier.

    on_record: called with each record that this call has trained and written
    """
    if job.source is not None:
        register_file(job.source)
    method = configured(job.method, job.data, job.settings)
    choice = parse(job.stream)
    check_also(job.also, method)
    check_backbone(job.backbone, method)
    checked_precision(job.precision)  # refused before any data is opened
    if job.seeds_at_once is not None and job.seeds_at_once < 1:
        raise UserError(f"--seeds-at-once {job.seeds_at_once}: expected a number above 0")
    dataset = load(job.data, job.data_dir, **job.data_options)
    stream = choice.text(dataset)
    specs = specs_of(job, method, stream)
    check_memory(method, specs[0].memory)
    check_writable(job.out)
    check_writable(job.checkpoints)
    records.check_appendable(job.results)
    if job.resume and records.set_aside_torn_line(job.results):
        say(f"moved a truncated line to {job.results}.torn; its run will be trained again")
    with claimed(job.checkpoints / ".claims", claims_of(job, specs)):
        take_up_earlier_names(job, specs)
        settle([job.checkpoint(spec) for spec in specs])
        finished = finished_of(job, specs, dataset)
        left = [spec for spec in specs if spec.seed not in finished]
        check_interrupted(job, left)
        skip(job, [spec for spec in specs if spec.seed in finished], say)
        for record in trained(job, left, method, dataset, watch, say):
            finished[record.seed] = record
            if on_record:
                on_record(record)
    return [finished[spec.seed] for spec in specs]


def claims_of(job: Job, specs: Sequence[Spec]) -> dict[int, str]:
    """A number per run, equal in every process, and a description of the run.

    Seeds of one experiment have consecutive numbers, which the system keeps as one lock.
    """
    first = int.from_bytes(hashlib.sha256(specs[0].experiment.encode()).digest()[:4]) >> 1 << 31
    return {first + spec.seed: f"seed {spec.seed} in {job.out}" for spec in specs}


def take_up_earlier_names(job: Job, specs: Sequence[Spec]) -> None:
    """Rename checkpoints of versions that called float32 on a CPU tf32."""
    for spec in specs:
        path, earlier = job.checkpoint(spec), job.checkpoint(replace(spec, precision=PLAIN))
        renamed = job.device == "cpu" and spec.precision == "fp32" and not path.exists()
        if renamed and earlier.exists():
            with write_errors(earlier, "remove it"):
                earlier.rename(path)


def finished_of(job: Job, specs: Sequence[Spec], dataset: Dataset) -> dict[int, Record]:
    """The finished runs by seed, refused if images or source of the method have changed."""
    found = by_identity(records.read(job.results))
    looked = {spec.seed: looked_up(found, spec, job.also) for spec in specs}
    done = {seed: record for seed, record in looked.items() if record is not None}
    check_versions(found.values(), specs[0], job.results)
    for seed, record in done.items():
        if differ(record, digests(dataset)):
            raise UserError(
                f"seed {seed} in {job.results} used other images than {job.data} has now: "
                "choose another --out"
            )
    return done


def trained(
    job: Job, left: Sequence[Spec], method: Method, dataset: Dataset, watch: Watch, say: Say
) -> Iterator[Record]:
    """Train the remaining runs, as many together as fit, and yield their records."""
    dataset = devices.resident(dataset, job.device) if left else dataset
    most = seeds_at_once(job, left, method, dataset)
    for start in range(0, len(left), most):
        runs = [
            new_or_resumed(job, spec, method, dataset, say) for spec in left[start : start + most]
        ]
        if start == 0:
            say_unequal_tasks(runs[0], say)
        for group in in_step(runs, most):
            warn_of_regrouping(group, say)
            yield from run_group(job, group, watch)


def specs_of(job: Job, method: Method, stream: str) -> list[Spec]:
    """The identities of a job's runs, with its stream in canonical form."""
    memory = job.memory if method.replays else 0
    settings = settings_of(method) | ({} if job.backbone is None else {NAME: job.backbone})
    about = settings, stream, job.data_options, checked_precision(job.precision)
    specs = (Spec(job.method, job.data, memory, seed, *about) for seed in job.seeds)
    return [spec.on(job.device) for spec in specs]


def seeds_at_once(job: Job, left: Sequence[Spec], method: Method, dataset: Dataset) -> int:
    """How many seeds train together: the user's choice, or as many as fit."""
    if job.seeds_at_once is not None:
        return job.seeds_at_once
    if len(left) < 2 or not is_cuda(job.device) or job.backbone is not None:
        return 1
    one = new_run(job, left[0], method, dataset)
    return fitting(devices.free_bytes(job.share), bytes_of_one(one), len(left))


def skip(job: Job, specs: Sequence[Spec], say: Say) -> None:
    """Report the finished seeds and remove checkpoints that a kill left behind."""
    for spec in specs:
        say(f"seed {spec.seed} is finished in {job.results}: skipped")
        if job.save_model and not job.model(spec).exists():
            say(f"seed {spec.seed} has no saved model: train it with another --out to get one")
        remove(job.checkpoint(spec))


def remove(checkpoint: Path) -> None:
    """Remove the checkpoint of a finished run."""
    with write_errors(checkpoint, "its result is kept"):
        checkpoint.unlink(missing_ok=True)


def new_run(job: Job, spec: Spec, method: Method, dataset: Dataset) -> Run:
    """A run at its start."""
    return Run(spec, method, stream_of(spec.stream, dataset, spec.seed), job.device, job.also)


def new_or_resumed(job: Job, spec: Spec, method: Method, dataset: Dataset, say: Say) -> Run:
    """A run at its start or at its checkpoint."""
    current, path = new_run(job, spec, method, dataset), job.checkpoint(spec)
    try:
        if path.exists():
            current.resume(path)
    except DamagedFile:
        with write_errors(path, "remove it"):
            path.replace(f"{path}.damaged")
        say(f"moved an unreadable checkpoint to {path}.damaged; seed {spec.seed} restarts")
    if current.progress.step:
        say(f"seed {spec.seed} continues from step {current.progress.step} of {current.steps}")
    return current


def say_unequal_tasks(run: Run, say: Say) -> None:
    """Say that tasks have different numbers of classes: AA weighs tasks, not classes, equally."""
    counts = run.stream.classes_of_tasks
    if len(set(counts)) > 1:
        say(f"tasks have {', '.join(map(str, counts))} classes; AA counts every task alike")


def warn_of_regrouping(runs: Sequence[Run], say: Say) -> None:
    """Warn about runs whose results will differ from an uninterrupted run."""
    for run in runs:
        before, left = run.together, run.steps - run.progress.step
        if before not in (None, len(runs)) and left:
            say(
                f"seed {run.spec.seed}: results will differ in rounding because the group size "
                f"changed from {before} to {len(runs)}"
            )


def run_group(job: Job, runs: Sequence[Run], watch: Watch) -> list[Record]:
    """Train runs together and write their records."""
    savings = [Saving(job.checkpoint(run.spec), job.checkpoint_every) for run in runs]
    group = Group(runs, cache_folder(job.data_dir) / "compiled" if job.compiling else None)
    with watch(runs[0]) as watcher:
        done = group.train(watcher, savings)
    for run, record in zip(runs, done, strict=True):
        if job.save_model:
            run.learner().save(job.model(run.spec))
        records.append(job.results, record)
        remove(job.checkpoint(run.spec))
    return done


def check_interrupted(job: Job, specs: Sequence[Spec]) -> None:
    """Refuse to overwrite a checkpoint without --resume."""
    for spec in specs:
        if not job.resume and job.checkpoint(spec).exists():
            raise UserError(
                f"seed {spec.seed} was interrupted: continue it with --resume, "
                f"or remove {job.checkpoint(spec)} to restart it"
            )
