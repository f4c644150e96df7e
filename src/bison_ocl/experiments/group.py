"""Several seeds of one experiment in lockstep: one vectorised step serves all of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from bison_ocl import tree
from bison_ocl.engine import Engine
from bison_ocl.experiments.records import Record
from bison_ocl.experiments.train import Run, Saving, Watcher, alive


def in_step(runs: Sequence[Run], most: int) -> list[list[Run]]:
    """Runs that can go together: as far as each other, with tasks of the same lengths."""
    groups: dict[tuple[object, ...], list[list[Run]]] = {}
    for run in runs:
        lengths = tuple(len(images) for images in run.stream.images)
        alone = run.spec.seed if run.stream.overlapping else None
        found = groups.setdefault((run.progress.step, lengths, alone), [[]])
        if len(found[-1]) == most:
            found.append([])
        found[-1].append(run)
    return [group for found in groups.values() for group in found]


class Group:
    """Runs whose states are stacked while they learn, and their own again for tests and files."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs, self.first = runs, runs[0]
        stacked = tree.stack([run.me for run in runs])
        engine = Engine(self.first.method, tree.vectorised)
        self.body = alive(engine, stacked, self.first.device)

    def train(self, watcher: Watcher, savings: Sequence[Saving]) -> list[Record]:
        """Every task in turn, for all runs: learn, test, close."""
        for task in range(self.first.progress.task, self.first.stream.tasks):
            self._learn_task(task, watcher, savings)
            self._hand_back()
            for run in self.runs:
                run.test(task, watcher)
            self.body.end_task()
            for run in self.runs:
                run.progress = replace(run.progress, task=task + 1, batch=0)
            self._save(savings)
        return [run.record() for run in self.runs]

    def _learn_task(self, task: int, watcher: Watcher, savings: Sequence[Saving]) -> None:
        start = saved = time.perf_counter()
        before = [run.progress.train_seconds for run in self.runs]
        size, batch = self.first.method.stream_batch, self.first.progress.batch
        streams = [run.stream.batches(task, size, batch) for run in self.runs]
        for batches in zip(*streams, strict=True):
            self.body.step(self.first.on_device(tree.stack(batches)))
            now = time.perf_counter()
            for run, seconds in zip(self.runs, before, strict=True):
                run.stepped(seconds + (now - start) / len(self.runs))
            watcher.stepped(task, self.first.progress.step)
            if now - saved >= savings[0].every:
                self._save(savings)
                saved = time.perf_counter()

    def _hand_back(self) -> None:
        """Give every run its part of the stack."""
        for i, run in enumerate(self.runs):
            run.body.take(tree.pick(self.body.me, i))

    def _save(self, savings: Sequence[Saving]) -> None:
        self._hand_back()
        for run, saving in zip(self.runs, savings, strict=True):
            run.save(saving.path)
