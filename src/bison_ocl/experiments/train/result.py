"""Make the record of a finished run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bison_ocl import tree
from bison_ocl.evaluate.anytime import area_under_curve
from bison_ocl.evaluate.confusion import in_original_ids
from bison_ocl.evaluate.metrics import average_accuracy, forgetting
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.digests import digests
from bison_ocl.experiments.records.environment import environment
from bison_ocl.experiments.records.record import (
    Anytime,
    Counts,
    Matrix,
    Metrics,
    Record,
    Scores,
    Timing,
)
from bison_ocl.experiments.train.loss_curve import Intervals
from bison_ocl.experiments.train.progress import Progress
from bison_ocl.experiments.train.run import Run
from bison_ocl.methods.outside import source_digest
from bison_ocl.methods.settings import configured, settings_of

SHOWN_CLASSES = 20
"""the most classes for which a record keeps confusion matrices"""


def record_of(run: Run) -> Record:
    """The record of a finished run, without AI, which needs a FINE-TUNE run."""
    matrix, progress, overlapping = run.accuracy(), run.progress, run.stream.overlapping
    area = area_under_curve(**progress.anytime) if overlapping else None
    images = digests(run.stream.dataset)
    return Record(
        **run.spec.as_spec(),
        class_order=list(run.stream.order),
        accuracy=matrix,
        metrics=replace(metrics_of(matrix), A_AUC=area),
        also={rule: rescored(run, rule) for rule in progress.also},
        confusion=recorded_confusions(run, progress.confusions),
        class_names=list(run.stream.dataset.class_names) if has_few_classes(run) else None,
        parameters=sum(leaf.numel() for leaf in tree.leaves(run.me.net.params)),
        log=progress.log,
        losses=Intervals(run.steps).curve(progress.losses),
        anytime=Anytime(**progress.anytime) if overlapping else None,
        refused_steps=progress.refused,
        timing=timing_of(progress, run.together or 1, run.compiled),
        data_sha256=images.data_sha256,
        train_sha256=images.train_sha256,
        method_title=type(run.method).title,
        method_source=source_digest(run.spec.method),
        method_preset=settings_of(configured(run.spec.method, run.spec.data, {})),
        environment=environment(run.device),
        commit=commit(),
    )


def rescored(run: Run, rule: str) -> Scores:
    """The scores of another inference rule on the same networks."""
    matrix = run.accuracy(rule)
    return Scores(matrix, metrics_of(matrix), recorded_confusions(run, run.progress.also[rule]))


def recorded_confusions(run: Run, found: Sequence[Counts]) -> list[Counts] | None:
    """Confusion matrices in the dataset's own ids; None if they are large."""
    if not has_few_classes(run):
        return None
    return [in_original_ids(counts, run.stream.order).tolist() for counts in found]


def has_few_classes(run: Run) -> bool:
    return run.stream.dataset.classes <= SHOWN_CLASSES


def metrics_of(matrix: Matrix) -> Metrics:
    """The metrics of an accuracy matrix, without AI, which needs a FINE-TUNE run."""
    forgotten, as_in_tables = forgetting(matrix, "text"), forgetting(matrix, "table")
    return Metrics(AA=average_accuracy(matrix), AF=forgotten, AF_table=as_in_tables)


def timing_of(progress: Progress, together: int, compiled: bool) -> Timing:
    """The times of a run; runs trained together share them equally."""
    return Timing(
        train_s=progress.train_seconds,
        test_s=progress.test_seconds,
        total_s=progress.train_seconds + progress.test_seconds,
        ms_per_step=1e3 * progress.train_seconds / progress.step,
        seeds_at_once=together,
        compiled=compiled,
        peak_MB=progress.peak_megabytes,
    )
