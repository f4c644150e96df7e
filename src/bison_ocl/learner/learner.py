"""A learner behind a stream of labelled images: observe, predict, save, load.

Image shape and classes are discovered; labels are the caller's own, of any hashable type.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from functools import wraps
from operator import index
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine.step import Engine
from bison_ocl.errors import UserError
from bison_ocl.files import checkpoint
from bison_ocl.learner.images import to_bytes
from bison_ocl.learner.labels import Labels
from bison_ocl.memory.memory import Memory, Write
from bison_ocl.methods.method import Method
from bison_ocl.methods.settings import configured, settings_of
from bison_ocl.methods.start import check_memory, first_state
from bison_ocl.nets.module import ModuleBackbone
from bison_ocl.nets.net import Backbone
from bison_ocl.state import State
from bison_ocl.threads import Turns

FIRST_CAPACITY = 8
"""Rows the heads are born with when the number of classes is not given; they double from there."""

LARGEST_SIDE = 4096
"""of an image in a file, in pixels"""

P = ParamSpec("P")
T = TypeVar("T")


class Unlearnable(UserError):
    """Images that no step can take."""


def entered(f: Callable[Concatenate[Learner, P], T]) -> Callable[Concatenate[Learner, P], T]:
    """A call that waits until no other thread is in the learner, and that succeeds or does nothing.

    It may take gradients: a caller that predicts in inference mode has it learn from the images
    that wait. What fails leaves the learner as it was, so that the same call can be made again.
    """

    @wraps(f)
    def call(self: Learner, /, *arguments: P.args, **named: P.kwargs) -> T:
        with self._turns, torch.inference_mode(False):
            before = vars(self).copy()
            self._overwritten = []
            try:
                return f(self, *arguments, **named)
            except BaseException as error:
                for memory, rows, write in reversed(self._overwritten):
                    memory.write(rows, write)
                vars(self).update(before)
                if isinstance(error, Unlearnable):
                    self._forget_unless_learned()
                raise
            finally:
                self._overwritten = []

    return call


class Learner:
    """One method trained image by image, with a memory of at most `memory` images.

    >>> learner = Learner("bison", memory=1000, seed=0)
    >>> learner.observe(images, labels)  # doctest: +SKIP
    >>> learner.predict(images)  # doctest: +SKIP

    `classes` fixes the heads in advance; without it the losses run over the classes seen so far and
    the heads grow. `task_gap`: a new class starts a task if that many steps brought none, until the
    first call of `new_task`; None switches it off. Settings are the method's: `beta=0.2`.
    Threads may share a learner: while one is in it, others wait.
    """

    def __init__(
        self,
        method: str = "bison",
        *,
        memory: int = 1000,
        seed: int = 0,
        classes: int | None = None,
        backbone: nn.Module | None = None,
        task_gap: int | None = 50,
        device: str = "cpu",
        **settings: Any,
    ) -> None:
        check_kinds(method, backbone)
        check_device(device)
        self._name, self._module, self._device = method, backbone, device
        self._memory, self._seed = whole("memory", memory), whole("seed", seed)
        self._classes = None if classes is None else whole("classes", classes)
        self._task_gap = None if task_gap is None else whole("task_gap", task_gap)
        self.method = configured(method, None, settings)
        check_memory(self.method, self._memory)
        self._engine = Engine(self.method)
        self._labels = Labels(limit=self._classes)
        self._steps_without_news = 0
        self._backbone: Backbone | None = None
        self._state: State | None = None
        self._summary: Any = None
        self._waiting: list[tuple[Tensor, Hashable]] = []
        self._finite = True
        self._overwritten: list[tuple[Memory, Batch, Write]] = []
        self._turns = Turns()

    # --- learning ---

    @entered
    def observe(self, images: Any, labels: Iterable[Hashable]) -> None:
        """See labelled images once. They are learned from as soon as a stream batch is complete.

        All of them or, where a step fails, none: the same images may be observed again.
        """
        x, y = to_bytes(images), self._labels.plain(labels)
        if len(x) != len(y):
            raise UserError(f"{len(x)} images came with {len(y)} labels: give one label an image")
        self._labels.check_room([*(label for _, label in self._waiting), *y])
        self._check_shape(x)
        if len(x) and self._state is None:
            self._state = self._born(tuple(x.shape[1:]), self._classes or FIRST_CAPACITY)
        self._waiting = [*self._waiting, *zip(x, y, strict=True)]
        size = self.method.stream_batch
        while len(self._waiting) >= size:
            self._learn(size)

    @entered
    def flush(self) -> None:
        """Learn from the images that wait for their batch to fill."""
        self._flush()

    @entered
    def new_task(self) -> None:
        """Say that a task ends here. From now on boundaries come from these calls alone."""
        self._flush()
        self._task_gap = None
        if self._state is not None:
            self._state = self._engine.end_task(self._state)
            self._summary = None

    @entered
    def allow_more_classes(self) -> None:
        """Take in labels beyond `classes`, as a learner made without it; for models of a run too.

        From now on the losses run over the classes seen so far, and the heads grow. Where tasks
        end, a model of a run hears from `new_task` alone.
        """
        self._classes = None
        self._labels = self._labels.without_limit()
        if self._state is not None:
            self._state = replace(self._state, closed=False)

    def _flush(self) -> None:
        if self._waiting:
            self._learn(len(self._waiting))

    def _learn(self, size: int) -> None:
        """One step on the images that wait longest; nothing changes before it has succeeded."""
        batch = self._waiting[:size]
        labels = self._labels.added(label for _, label in batch)
        fresh = len(labels) > len(self._labels)
        me = self._grown(len(labels))
        if fresh and self._task_gap is not None and self._steps_without_news >= self._task_gap:
            me = self._engine.end_task(me)
        ids = torch.tensor([labels.number(label) for _, label in batch])
        new = Batch(torch.stack([image for image, _ in batch]), ids)
        new = tree.map_leaves(lambda leaf: leaf.to(self._device), new)
        try:
            learned = self._engine.learn(me, new)
        except UserError as error:
            raise Unlearnable(str(error)) from error
        if learned.write is not None:
            self._overwritten.append((me.memory, *me.memory.overwritten(learned.write)))
        self._state, loss = self._engine.stored(me, new, learned)
        self._steps_without_news = 0 if fresh else self._steps_without_news + 1
        self._labels, self._waiting, self._summary = labels, self._waiting[size:], None
        self._warn_if_lost(loss)

    def _forget_unless_learned(self) -> None:
        """Images that no step can take must not decide what later ones look like."""
        if self._state is not None and self._state.step == 0:
            self._backbone, self._state, self._waiting = None, None, []

    def _warn_if_lost(self, loss: Tensor) -> None:
        if self._finite and not loss.isfinite():
            self._finite = False
            advice = (
                "the loss is not finite, so the step is refused: use a lower lr if that goes on"
            )
            warnings.warn(advice, stacklevel=2)

    # --- predicting ---

    @entered
    def predict(self, images: Any) -> list[Hashable]:
        """The most likely label of each image; images that wait are learned first."""
        return [self._labels.all[i] for i in self._scores(images).argmax(1).tolist()]

    @entered
    def predict_proba(self, images: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """Softmax of the method's scores: a row an image, a column a label, in `labels`' order.

        For methods that predict by nearest class mean the scores are −‖z − μ_c‖²: a ranking in
        soft form, not calibrated probabilities.
        """
        array: np.ndarray[Any, np.dtype[Any]] = self._scores(images).softmax(1).numpy()
        return array

    @property
    @entered
    def labels(self) -> list[Hashable]:
        """The labels seen so far, in order of appearance; also those of images that wait."""
        return list(dict.fromkeys([*self._labels.all, *(label for _, label in self._waiting)]))

    def _scores(self, images: Any) -> Tensor:
        x = to_bytes(images)
        self._check_shape(x)
        self._flush()
        if self._state is None:
            raise UserError("nothing has been learned yet: call observe before predict")
        if self._summary is None:
            self._summary = self._engine.summarise(self._state)
        if len(x) == 0:
            return torch.zeros(0, len(self._labels))
        scores = self._engine.scores(self._state, self._summary, x.to(self._device))
        return scores[:, : len(self._labels)].cpu()

    # --- files ---

    @entered
    def save(self, path: str | Path) -> None:
        """Write everything to one file, waiting images learned first."""
        self._flush()
        if self._state is None:
            raise UserError("nothing has been learned yet: call observe before save")
        tensors, fixed = checkpoint.pack(self._state)
        header = {
            "kind": "learner",
            "method": self._name,
            "settings": settings_of(self.method),
            "memory": self._memory,
            "seed": self._seed,
            "classes": self._classes,
            "rows": self._state.classes,
            "shape": list(self._state.memory.x.shape[1:]),
            "backbone": "resnet18" if self._module is None else "module",
            "labels": self._labels.encoded(),
            "task_gap": self._task_gap,
            "steps_without_news": self._steps_without_news,
            "fixed": fixed,
        }
        checkpoint.write(Path(path), tensors, header)

    @classmethod
    def load(
        cls, path: str | Path, *, backbone: nn.Module | None = None, device: str = "cpu"
    ) -> Learner:
        """A learner as it was saved; `backbone` where it was built with one. Runs no code."""
        tensors, values = checkpoint.read(Path(path))
        if values.get("kind") != "learner":
            raise UserError(f"{path} holds no learner: it is a file of `bison-ocl run`")
        header = checkpoint.Header(values)
        if (header["backbone"].text() == "module") != (backbone is not None):
            need = "give load(..., backbone=...)" if backbone is None else "leave backbone out"
            raise UserError(f"{path} was saved with another backbone: {need}")
        method, settings = header["method"].text(), header["settings"].by_name()
        configured(method, None, settings)  # none of them is another argument of a learner
        rows, shape = header["rows"].whole(least=1), header["shape"].items()
        header["shape"].check(len(shape) == 3)
        header["classes"].check(header["classes"].value in (None, rows))
        learner = cls(
            method,
            memory=header["memory"].whole(),
            seed=header["seed"].whole(),
            classes=None if header["classes"].value is None else rows,
            backbone=backbone,
            task_gap=header["task_gap"].value,
            device=device,
            **settings,
        )
        learner._labels = Labels.decoded([x.value for x in header["labels"].items()], rows)
        if learner._classes is None:
            learner._labels = learner._labels.without_limit()
        learner._steps_without_news = header["steps_without_news"].whole()
        sides = tuple(side.whole(least=1, most=LARGEST_SIDE) for side in shape)
        checkpoint.check_fit(learner._form(sides, rows), tensors)
        me = checkpoint.unpack(learner._born(sides, rows), tensors, header["fixed"].by_name())
        header["labels"].check(not bool(me.seen[len(learner._labels) :].any()))
        learner._state = me
        if isinstance(learner._backbone, ModuleBackbone):
            learner._backbone.start_from(me.net.params["backbone"], me.net.stats)
        return learner

    @classmethod
    def adopt(cls, name: str, method: Method, memory: int, me: State, labels: Labels) -> Learner:
        """A learner that goes on from the state of a finished run.

        Once it was saved and loaded it computes in tf32, whatever the precision of the run.
        """
        settings = settings_of(method)
        learner = cls(
            name,
            memory=memory,
            seed=int(me.seed),
            classes=me.classes,
            task_gap=None,
            device=str(me.seed.device),
            **settings,
        )
        learner._labels, learner._state = labels, me
        return learner

    # --- inside ---

    @entered
    def __copy__(self) -> Learner:
        """A learner of its own: rows of a memory are written in place, so they are not shared."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self) | {"_turns": Turns()})
        if self._state is not None:
            memory = tree.map_leaves(torch.clone, self._state.memory)
            twin._state = replace(self._state, memory=memory)
        return twin

    def _born(self, shape: tuple[int, ...], rows: int, device: str | None = None) -> State:
        if self._backbone is None:
            given, asked_for = self._module, self.method.backbone(shape)
            self._backbone = asked_for if given is None else ModuleBackbone(given, shape)
        return first_state(
            self.method,
            self._seed,
            self._backbone,
            rows,
            self._memory,
            shape,
            closed=self._classes is not None,
            device=device or self._device,
        )

    def _form(self, shape: tuple[int, ...], rows: int) -> State:
        """A state without values, so of any size: what the tensors of a file must look like."""
        try:
            return self._born(shape, rows, "meta")
        except (RuntimeError, OverflowError) as error:
            raise UserError(
                "the file tells of a network that is too large: use another copy"
            ) from error

    def _grown(self, classes: int) -> State:
        """The state with rows for so many classes: born again twice as large, the old pasted in."""
        assert self._state is not None
        me = self._state
        while classes > me.classes:
            me = tree.paste(me, self._born(tuple(me.memory.x.shape[1:]), 2 * me.classes))
        return me

    def _check_shape(self, x: Tensor) -> None:
        known = self._state and list(self._state.memory.x.shape[1:])
        if len(x) and known and list(x.shape[1:]) != known:
            _, height, width = known
            raise UserError(
                f"images are {x.shape[2]}x{x.shape[3]}, earlier ones {height}x{width}: resize them"
            )


LEAST = {"memory": 0, "seed": 0, "classes": 1, "task_gap": 1}


def whole(name: str, value: Any) -> int:
    """A whole number in range, of Python or numpy, before anything is built on it."""
    try:
        number = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = -1
    if not LEAST[name] <= number < 2**62:
        raise UserError(f"{name}={value!r}: give a whole number of at least {LEAST[name]}")
    return number


def check_kinds(method: object, backbone: object) -> None:
    """A name, and a module if any."""
    if not isinstance(method, str):
        raise UserError(f"method={method!r}: give its name, such as 'bison'")
    if not (backbone is None or isinstance(backbone, nn.Module)):
        raise UserError(f"backbone={backbone!r}: give a torch.nn.Module that returns features")


def check_device(name: str) -> None:
    """A device that torch knows and finds here."""
    try:
        kind = torch.device(name).type
    except (RuntimeError, TypeError):
        kind = "unknown"
    if kind not in ("cpu", "cuda"):
        raise UserError(f"device={name!r}: give cpu or cuda")
    if kind == "cuda" and not torch.cuda.is_available():
        raise UserError(f"device={name!r}: torch finds no GPU here; use cpu")
