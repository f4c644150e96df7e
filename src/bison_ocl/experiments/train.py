"""One run from the first batch to the record, with checkpoints on the way (paper, Alg. 1)."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import torch

from bison_ocl import checkpoint, tree
from bison_ocl.batch import Batch
from bison_ocl.engine import Eager, Engine
from bison_ocl.errors import UserError
from bison_ocl.evaluate.anytime import area_under_curve
from bison_ocl.evaluate.confusion import accuracy_by_task, in_original_ids
from bison_ocl.evaluate.metrics import average_accuracy, forgetting
from bison_ocl.experiments.environment import commit, environment
from bison_ocl.experiments.records import SCHEMA, Record
from bison_ocl.experiments.spec import Spec
from bison_ocl.labels import Labels
from bison_ocl.learner import Learner, backbone_for
from bison_ocl.methods.method import Method
from bison_ocl.state import State
from bison_ocl.stream.tasks import Stream

SHOWN_CLASSES = 20
"""Confusion matrices are kept in the record up to so many classes."""

MEMORY_FORMAT = "channels_last"
"""Of the weights, at birth and after a resume: the last bits of a result depend on it."""

ANYTIME_POINTS = 10
"""Where tasks overlap, how often a run is tested on the way, in a task of average length."""


RULES = {"ncm": Engine.ncm_scores}
"""Inference rules that any method with a memory can be scored by, beside its own."""


class Watcher(Protocol):
    """Whoever wants to know how a run goes: a progress bar, a log, nobody."""

    def stepped(self, task: int, step: int) -> None: ...

    def tested(self, task: int, accuracy: float) -> None: ...


@dataclass(frozen=True)
class Progress:
    """How far a run has come: where it stands and what it measured so far."""

    task: int = 0
    batch: int = 0
    step: int = 0
    confusions: list[list[list[int]]] = field(default_factory=list)
    """after each task, [C, C] in run ids"""
    also: dict[str, list[list[list[int]]]] = field(default_factory=dict)
    """the same by other inference rules, on the same network"""
    log: list[dict[str, float | None]] = field(default_factory=list)
    train_seconds: float = 0.0
    test_seconds: float = 0.0
    anytime: dict[str, list[Any]] = field(default_factory=lambda: {"steps": [], "accuracy": []})
    """where tasks overlap, what tests on the way found"""


@dataclass(frozen=True)
class Saving:
    """Where a run keeps its checkpoint, and how often it writes one."""

    path: Path
    every: float = 30.0


class Run:
    """A run in the making. `resume` takes it up where its checkpoint left it."""

    def __init__(
        self,
        spec: Spec,
        method: Method,
        stream: Stream,
        device: str = "cpu",
        also: Sequence[str] = (),
    ) -> None:
        self.spec, self.method, self.stream, self.device = spec, method, stream, device
        self.also = also
        self.engine = Engine(method)
        self.body = alive(self.engine, self._born(), device)
        self.progress = Progress(also={rule: [] for rule in also})

    def _born(self) -> State:
        data = self.stream.dataset
        backbone = backbone_for(self.method, data.shape)
        return self.method.init(
            self.spec.seed,
            backbone,
            data.classes,
            self.spec.memory,
            data.shape,
            device=self.device,
        )

    @property
    def me(self) -> State:
        return self.body.me

    @property
    def steps(self) -> int:
        """Steps of the whole run."""
        size = self.method.stream_batch
        return sum(self.stream.steps(task, size) for task in range(self.stream.tasks))

    @property
    def anytime_every(self) -> int:
        """Steps between two tests on the way."""
        return -(-self.steps // (ANYTIME_POINTS * self.stream.tasks))

    def resume(self, path: Path) -> None:
        """Continue from a checkpoint, with the thread count it was made with."""
        tensors, header = checkpoint.read(path)
        if header.get("kind") != "run" or header.get("spec") != self.spec.__dict__:
            raise UserError(f"{path} belongs to another run: remove it or choose another --out")
        if header["memory_format"] != MEMORY_FORMAT:
            raise UserError(f"{path} is in memory format {header['memory_format']}: begin anew")
        if header["threads"] != torch.get_num_threads():
            torch.set_num_threads(header["threads"])
        me = checkpoint.unpack(self._born(), tensors, header["fixed"])
        self.body = alive(self.engine, me, self.device)
        self.progress = Progress(**header["progress"])
        if set(self.progress.also) != set(self.also):
            begun = " ".join(f"--also {rule}" for rule in self.progress.also) or "no --also"
            raise UserError(f"{path} was begun with {begun}: resume it in the same way")

    def save(self, path: Path) -> None:
        """Write everything that `resume` needs."""
        tensors, fixed = checkpoint.pack(self.me)
        header = {
            "kind": "run",
            "spec": self.spec.__dict__,
            "progress": self.progress.__dict__,
            "fixed": fixed,
            "threads": torch.get_num_threads(),
            "memory_format": MEMORY_FORMAT,
        }
        checkpoint.write(path, tensors, header)

    def train(self, watcher: Watcher, saving: Saving | None = None) -> Record:
        """Every task in turn: learn, test, close."""
        for task in range(self.progress.task, self.stream.tasks):
            self._learn_task(task, watcher, saving)
            self.test(task, watcher)
            self.body.end_task()
            self.progress = replace(self.progress, task=task + 1, batch=0)
            if saving is not None:
                self.save(saving.path)
        return self.record()

    def _learn_task(self, task: int, watcher: Watcher, saving: Saving | None) -> None:
        start = saved = time.perf_counter()
        before = self.progress.train_seconds
        size = self.method.stream_batch
        for new in self.stream.batches(task, size, self.progress.batch):
            self.body.step(self.on_device(new))
            now = time.perf_counter()
            self.stepped(before + now - start)
            watcher.stepped(task, self.progress.step)
            start += self._test_on_the_way()
            if saving is not None and now - saved >= saving.every:
                self.save(saving.path)
                saved = time.perf_counter()

    def stepped(self, train_seconds: float) -> None:
        """Count a step."""
        self.progress = replace(
            self.progress,
            batch=self.progress.batch + 1,
            step=self.progress.step + 1,
            train_seconds=train_seconds,
        )

    def test(self, task: int, watcher: Watcher) -> None:
        """Classify the test images of all classes met so far, and note the counts."""
        start = time.perf_counter()
        test = self.on_device(self.stream.test(task))
        summary = self.engine.summarise(self.me)
        scores = self.engine.scores(self.me, summary, test.x)
        also = dict(self.progress.also)
        for rule in also:
            found = RULES[rule](self.engine, self.me, summary, test.x)
            also[rule] = [*also[rule], self.engine.count(self.me, test, found).tolist()]
        log = {name: finite(float(value)) for name, value in self.method.log(self.me).items()}
        self.progress = replace(
            self.progress,
            confusions=[
                *self.progress.confusions,
                self.engine.count(self.me, test, scores).tolist(),
            ],
            also=also,
            log=[*self.progress.log, log],
            test_seconds=self.progress.test_seconds + time.perf_counter() - start,
        )
        accuracies = self.accuracy()[task][: task + 1]
        watcher.tested(task, sum(accuracies) / len(accuracies))

    def _test_on_the_way(self) -> float:
        """Where tasks overlap, the accuracy on the classes met so far; the seconds it took."""
        step, start = self.progress.step, time.perf_counter()
        if not self.stream.overlapping or (step % self.anytime_every and step < self.steps):
            return 0.0
        test = self.stream.test_of_first(int(self.me.seen.sum()))
        confusion = self.engine.confusion(self.me, self.on_device(test))
        accuracy = int(confusion.trace()) / len(test)
        anytime, seconds = self.progress.anytime, time.perf_counter() - start
        self.progress = replace(
            self.progress,
            anytime={
                "steps": [*anytime["steps"], step],
                "accuracy": [*anytime["accuracy"], accuracy],
            },
            test_seconds=self.progress.test_seconds + seconds,
        )
        return seconds

    def on_device(self, batch: Batch) -> Batch:
        return tree.map_leaves(lambda leaf: leaf.to(self.device), batch)

    def accuracy(self, rule: str | None = None) -> list[list[float]]:
        """The matrix a[k][j]: accuracy on task j after task k, for the tasks done so far."""
        tasks, progress = self.stream.column_of_class, self.progress
        found = progress.confusions if rule is None else progress.also[rule]
        return [accuracy_by_task(c, tasks).tolist() for c in found]

    def record(self) -> Record:
        """The line of results.jsonl. AI is left to whoever has the FINE-TUNE run beside it."""
        matrix, progress, order = self.accuracy(), self.progress, self.stream.order
        total = progress.train_seconds + progress.test_seconds
        small = self.stream.dataset.classes <= SHOWN_CLASSES
        confusions = [in_original_ids(c, order).tolist() for c in progress.confusions]
        metrics = metrics_of(matrix)
        if self.stream.overlapping:
            metrics["A_AUC"] = area_under_curve(**progress.anytime)
        return {
            "schema": SCHEMA,
            **self.spec.__dict__,
            "class_order": list(order),
            "accuracy": matrix,
            "metrics": metrics,
            "also": {
                rule: {"accuracy": self.accuracy(rule), "metrics": metrics_of(self.accuracy(rule))}
                for rule in progress.also
            },
            "confusion": confusions if small else None,
            "log": progress.log,
            **({"anytime": progress.anytime} if self.stream.overlapping else {}),
            "timing": {
                "train_s": progress.train_seconds,
                "test_s": progress.test_seconds,
                "total_s": total,
                "ms_per_step": 1e3 * progress.train_seconds / progress.step,
            },
            "data_sha256": self.stream.dataset.test_sha256 or None,
            "environment": environment(self.device),
            "commit": commit(),
        }

    def learner(self) -> Learner:
        """The trained model as a Learner that predicts the dataset's class names."""
        names = self.stream.dataset.class_names
        labels = Labels(limit=len(names))
        labels.add(names[i] for i in self.stream.order)
        return Learner.adopt(self.spec.method, self.method, self.spec.memory, self.me, labels)


def alive(engine: Engine, me: State, device: str) -> Eager:
    """A state with the means to step: replayed graphs on a GPU."""
    if torch.device(device).type != "cuda":
        return Eager(engine, me)
    from bison_ocl.capture import Captured

    return Captured(engine, me)


def finite(value: float) -> float | None:
    """A number that JSON can hold; None once training has diverged."""
    return value if math.isfinite(value) else None


def metrics_of(matrix: list[list[float]]) -> dict[str, Any]:
    """What the accuracy matrix says; AI needs another run beside it."""
    return {
        "AA": average_accuracy(matrix),
        "AF": forgetting(matrix, "text"),
        "AF_table": forgetting(matrix, "table"),
        "AI": None,
    }
