"""Train one run, or several stacked runs in lockstep, with one step for all.

A run's progress is updated when the group pauses; a step itself only counts on the host and never
waits for the device.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine.execution import is_cuda
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.train import devices
from bison_ocl.experiments.train.loss_curve import Intervals, LossSums
from bison_ocl.experiments.train.result import record_of
from bison_ocl.experiments.train.run import Run, Saving, Watcher
from bison_ocl.experiments.train.score import OWN, confusions, logs
from bison_ocl.files.durable import replaced_together
from bison_ocl.stream.tasks import side_by_side


class Group:
    """Runs at the same step, with tasks of the same lengths; each has its own files."""

    def __init__(self, runs: Sequence[Run], compiled_in: Path | None = None) -> None:
        """compiled_in: the folder for compiled steps; None to compile none"""
        self.runs, self.first, self.device = runs, runs[0], runs[0].device
        self.step, self.batch = self.first.progress.step, self.first.progress.batch
        self.steps, self.test_every = self.first.steps, self.first.anytime_every
        self.execution = replace(self.first.execution, compiled_in=compiled_in)
        if is_cuda(self.device):
            devices.reset_peak()
        for run in runs:
            run.together, run.compiled = len(runs), self.execution.compiles
        self.stacked = len(runs) > 1
        self.engine = self.execution.engine(self.first.method, self.stacked)
        me = tree.stack([run.me for run in runs]) if self.stacked else self.first.me
        self.stepper = self.execution.stepper(self.engine, me)
        intervals = Intervals(self.steps)
        sums = [intervals.start(self.step, run.progress.losses) for run in runs]
        self.losses = LossSums(intervals, sums, self.device)
        self.since = 0.0

    def train(self, watcher: Watcher, savings: Sequence[Saving] = ()) -> list[Record]:
        """Learn, test and end each task. savings: one per run, or none for no checkpoints"""
        with self.execution.active():
            for task in range(self.first.progress.task, self.first.stream.tasks):
                self._learn_task(task, watcher, savings)
                self._test(task, watcher)
                watcher.paused(self.runs)
                self._end_task(task)
                self._save(savings)
        self._hand_back()
        return [record_of(run) for run in self.runs]

    def _learn_task(self, task: int, watcher: Watcher, savings: Sequence[Saving]) -> None:
        self._start_clock()
        saved = time.perf_counter()
        for new in self._arriving(task):
            loss = self.stepper.step(self.execution.moved(new))
            self.step, self.batch = self.step + 1, self.batch + 1
            self.losses.add(self.step, loss)
            watcher.stepped(task, self.step)
            if self._due():
                self._pause()
                self._test_on_the_way()
                watcher.paused(self.runs)
                self._start_clock()
            if savings and time.perf_counter() - saved >= savings[0].every:
                self._pause()
                self._save(savings)
                watcher.paused(self.runs)
                self._start_clock()
                saved = time.perf_counter()
        self._pause()

    def _end_task(self, task: int) -> None:
        self.stepper.end_task()
        self.batch = 0
        for run in self.runs:
            run.progress = replace(run.progress, task=task + 1, batch=0)

    def _arriving(self, task: int) -> Iterator[Batch]:
        size, stream = self.first.method.stream_batch, self.first.stream
        if not self.stacked:
            return stream.batches(task, size, self.batch)
        return side_by_side([run.stream for run in self.runs], task, size, self.batch)

    def _due(self) -> bool:
        """Whether an anytime test is due; only streams with overlapping tasks have them."""
        if not self.first.stream.overlapping:
            return False
        return self.step % self.test_every == 0 or self.step == self.steps

    # --- the clock runs from _start_clock to _pause ---

    def _start_clock(self) -> None:
        self.since = devices.now(self.device)

    def _pause(self) -> None:
        """Update the progress of every run to this step; the host waits for the device."""
        seconds = (devices.now(self.device) - self.since) / len(self.runs)
        peak = devices.peak_megabytes(self.device)
        refused = self.stepper.me.refused.reshape(-1).tolist()
        for run, losses, steps in zip(self.runs, self.losses.read(), refused, strict=True):
            run.progress = replace(
                run.progress,
                batch=self.batch,
                step=self.step,
                losses=losses,
                refused=steps,
                train_seconds=run.progress.train_seconds + seconds,
                peak_megabytes=None if peak is None else peak / len(self.runs),
            )

    # --- tests ---

    def _test(self, task: int, watcher: Watcher) -> None:
        """Classify the test images of all classes seen so far and keep the counts."""
        start = devices.now(self.device)
        tests = [self.execution.moved(run.stream.test(task)) for run in self.runs]
        found = confusions(self.engine, self.stepper.me, tests, self.first.also)
        kept = logs(self.engine, self.stepper.me, len(self.runs))
        seconds = self._share(start)
        accuracies: list[float] = []
        for run, counts, log in zip(self.runs, found, kept, strict=True):
            before = run.progress
            run.progress = replace(
                before,
                confusions=[*before.confusions, counts[OWN]],
                also={rule: [*past, counts[rule]] for rule, past in before.also.items()},
                log=[*before.log, log],
                test_seconds=before.test_seconds + seconds,
            )
            accuracies += run.accuracy()[task][: task + 1]
        watcher.tested(task, sum(accuracies) / len(accuracies))

    def _test_on_the_way(self) -> None:
        """Measure the anytime accuracy on the classes seen so far."""
        start = devices.now(self.device)
        met = self.stepper.me.seen.reshape(len(self.runs), -1).sum(1).tolist()
        pairs = zip(self.runs, met, strict=True)
        tests = [self.execution.moved(run.stream.test_of_first(n)) for run, n in pairs]
        found = confusions(self.engine, self.stepper.me, tests)
        seconds = self._share(start)
        for run, test, counts in zip(self.runs, tests, found, strict=True):
            right = sum(row[i] for i, row in enumerate(counts[OWN]))
            before = run.progress.anytime
            anytime = {
                "steps": [*before["steps"], self.step],
                "accuracy": [*before["accuracy"], right / len(test)],
            }
            spent = run.progress.test_seconds + seconds
            run.progress = replace(run.progress, anytime=anytime, test_seconds=spent)

    def _share(self, start: float) -> float:
        """Each run's share of the seconds since `start`."""
        return (devices.now(self.device) - start) / len(self.runs)

    # --- files ---

    def _hand_back(self) -> None:
        """Give every run its part of the state."""
        for i, run in enumerate(self.runs):
            run.me = tree.pick(self.stepper.me, i) if self.stacked else self.stepper.me

    def _save(self, savings: Sequence[Saving]) -> None:
        """Write the checkpoints of all runs together, so that they stay at the same step."""
        if not savings:
            return
        self._hand_back()
        with replaced_together([saving.path for saving in savings]) as paths:
            for run, path in zip(self.runs, paths, strict=True):
                run.save(path)
