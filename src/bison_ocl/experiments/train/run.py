"""A run: identity, stream, state and progress; saved and resumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from bison_ocl.engine.execution import Execution
from bison_ocl.errors import UserError
from bison_ocl.evaluate.confusion import accuracy_by_task
from bison_ocl.experiments.records.digests import Digests, differ, digests
from bison_ocl.experiments.records.record import from_fields
from bison_ocl.experiments.records.schema import MOST_THREADS
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.experiments.train.backbones import NAME, backbone_of
from bison_ocl.experiments.train.progress import Progress, progress_of
from bison_ocl.files import checkpoint
from bison_ocl.learner.labels.numbers import Labels
from bison_ocl.learner.learner import Learner
from bison_ocl.methods.method import Method
from bison_ocl.methods.outside import check_source, source_digest
from bison_ocl.methods.start import first_state
from bison_ocl.nets.module import ModuleBackbone
from bison_ocl.nets.net import Backbone
from bison_ocl.state import State
from bison_ocl.stream.tasks import Stream

MEMORY_FORMAT = "channels_last"
"""of the weights, initially and after a resume, because rounding depends on it"""

ANYTIME_POINTS = 10
"""anytime tests per task of average length, for overlapping tasks"""


class Watcher:
    """An observer of a run: a progress bar, a log, or nobody; by default it ignores everything."""

    def stepped(self, task: int, step: int) -> None:
        """A step was taken."""

    def tested(self, task: int, accuracy: float) -> None:
        """The test after a task is done."""

    def paused(self, runs: Sequence[Run]) -> None:
        """The progress of all runs of the group is up to date, on the host."""


@dataclass(frozen=True)
class Saving:
    """The path of a checkpoint, and the seconds between writes."""

    path: Path
    every: float = 30.0


class Run:
    """A run that a Group trains; `resume` continues it from its checkpoint."""

    def __init__(
        self,
        spec: Spec,
        method: Method,
        stream: Stream,
        device: str = "cpu",
        also: Sequence[str] = (),
    ) -> None:
        self.spec, self.method, self.stream, self.device = spec.on(device), method, stream, device
        self.also = also
        self.outside: str | None = spec.settings.get(NAME)
        """the backbone that the user named, if it is not the method's own"""
        own_module = self.outside is not None
        self.execution = Execution(device, self.spec.precision, own_module=own_module)
        self.me = self._born()
        self.progress = Progress(also={rule: [] for rule in also})
        self.together: int | None = None
        """runs trained together, itself included: rounding depends on it"""
        self.compiled = False
        """whether its steps were compiled: rounding and times depend on it"""

    def _born(self) -> State:
        data = self.stream.dataset
        me = first_state(
            self.method,
            self.spec.seed,
            self._backbone(),
            data.classes,
            self.spec.memory,
            data.shape,
            device=self.device,
        )
        return self.method.numbered(me, torch.tensor(self.stream.order, device=self.device))

    def _backbone(self) -> Backbone:
        shape = self.stream.dataset.shape
        if self.outside is None:
            return self.execution.backbone(self.method, shape)
        return backbone_of(self.outside, self.spec.seed, shape)

    @property
    def steps(self) -> int:
        """The number of steps of the whole run."""
        size = self.method.stream_batch
        return sum(self.stream.steps(task, size) for task in range(self.stream.tasks))

    @property
    def anytime_every(self) -> int:
        """Steps between two anytime tests."""
        return -(-self.steps // (ANYTIME_POINTS * self.stream.tasks))

    def resume(self, path: Path) -> None:
        """Continue from a checkpoint, with its number of threads."""
        tensors, values = checkpoint.read(path)
        header = checkpoint.Header(values)
        if values.get("kind") != "run" or not self._is_of(header["spec"].by_name()):
            raise UserError(f"{path} belongs to another run: remove it or choose another --out")
        other_steps = values.get("steps") not in (None, self.steps)
        if other_steps or differ(from_fields(Digests, values), digests(self.stream.dataset)):
            raise UserError(f"{path} was started on other images: restore them, or remove it")
        check_source(values.get("method_source"), self.spec.method, str(path))
        if header["memory_format"].text() != MEMORY_FORMAT:
            raise UserError(f"{path} is in memory format {values['memory_format']}: remove it")
        threads = header["threads"].whole(least=1, most=MOST_THREADS)
        me = checkpoint.unpack(self._born(), tensors, header["fixed"].by_name())
        progress = progress_of(header["progress"], self.stream, self.method.stream_batch)
        header["progress"].check((progress.task, progress.step) == (int(me.task), int(me.step)))
        if values.get("seeds_at_once") is not None:
            header["seeds_at_once"].whole(least=1)
        if set(progress.also) != set(self.also):
            begun = " ".join(f"--also {rule}" for rule in progress.also) or "no --also"
            raise UserError(f"{path} was started with {begun}: resume it with the same")
        if threads != torch.get_num_threads():
            torch.set_num_threads(threads)
        self.me, self.progress, self.together = me, progress, values.get("seeds_at_once")

    def _is_of(self, spec: dict[str, Any]) -> bool:
        """Whether a checkpoint belongs to this run."""
        try:
            return from_fields(Spec, spec).on(self.device).identity == self.spec.identity
        except (TypeError, AttributeError):  # not what any version writes
            return False

    def save(self, path: Path) -> None:
        """Write everything that `resume` needs."""
        tensors, fixed = checkpoint.pack(self.me)
        header = {
            "kind": "run",
            "spec": self.spec.as_spec(),
            "progress": self.progress.__dict__,
            "fixed": fixed,
            "threads": torch.get_num_threads(),
            "memory_format": MEMORY_FORMAT,
            "seeds_at_once": self.together,
            **vars(digests(self.stream.dataset)),
            "method_source": source_digest(self.spec.method),
            "steps": self.steps,
        }
        checkpoint.write(path, tensors, header)

    def accuracy(self, rule: str | None = None) -> list[list[float]]:
        """The matrix a[k][j]: accuracy on task j after task k, for the finished tasks."""
        tasks, progress = self.stream.column_of_class, self.progress
        found = progress.confusions if rule is None else progress.also[rule]
        return [accuracy_by_task(c, tasks).tolist() for c in found]

    def learner(self) -> Learner:
        """The trained model as a Learner that predicts the dataset's class names."""
        names = self.stream.dataset.class_names
        labels = Labels(limit=len(names))
        labels.add(names[i] for i in self.stream.order)
        about = self.spec.memory, self.me, labels, self.spec.precision
        network = self.me.net.design.backbone
        if isinstance(network, ModuleBackbone):
            return Learner.adopt(self.method, *about, network.module, network.normalise)
        return Learner.adopt(self.method, *about)
