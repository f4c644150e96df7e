"""Learner: learn from a stream of labelled images with observe, predict, save and load.

It discovers image shape and classes; labels are the caller's own, of any hashable type.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import wraps
from operator import eq
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.data.storage.places import cache_folder
from bison_ocl.engine.eager import Eager
from bison_ocl.engine.execution import Execution
from bison_ocl.errors import UserError
from bison_ocl.files import checkpoint
from bison_ocl.inference.rules import RULES
from bison_ocl.learner.arguments import check_backbone, check_rule, found_device, method_of, whole
from bison_ocl.learner.growth import grown
from bison_ocl.learner.images import is_single, to_bytes
from bison_ocl.learner.labels import Labels, encode, for_images
from bison_ocl.learner.prequential import Metrics, Prequential
from bison_ocl.learner.saved import (
    counts_of,
    encoded_counts,
    saved_class,
    waiting_images,
    waiting_of,
)
from bison_ocl.learner.snapshot import Snapshot, is_due, taken
from bison_ocl.methods import name_of
from bison_ocl.methods.method import Method
from bison_ocl.methods.settings import built, settings_of
from bison_ocl.methods.start import check_memory, first_state
from bison_ocl.nets.module import ModuleBackbone
from bison_ocl.nets.net import Backbone
from bison_ocl.nets.precision import PRECISIONS, Precision, checked_precision
from bison_ocl.state import State
from bison_ocl.threads import Turns

FIRST_CAPACITY = 8
"""initial rows of the heads if the number of classes is not given; they double as needed"""

REFRESH = 20
"""steps that a snapshot may be old"""

LARGEST_SIDE = 4096
"""pixels of an image side in a valid file"""

P = ParamSpec("P")
T = TypeVar("T")


class Unlearnable(UserError):
    """Images that a step refuses."""


def entered(f: Callable[Concatenate[Learner, P], T]) -> Callable[Concatenate[Learner, P], T]:
    """Make a method wait for other threads, and succeed completely or change nothing.

    It leaves inference mode, because steps take gradients. After a failure the learner is
    unchanged, so that the caller can repeat the call.
    """

    @wraps(f)
    def call(self: Learner, /, *arguments: P.args, **named: P.kwargs) -> T:
        with self._turns, torch.inference_mode(False), self._execution.active():
            before = vars(self).copy()
            try:
                with self._atomic():
                    return f(self, *arguments, **named)
            except BaseException as error:
                vars(self).update(before)
                if isinstance(error, Unlearnable):
                    self._forget_unless_learned()
                raise

    return call


class Learner:
    """One method trained image by image, with a memory of at most `memory` images.

    >>> learner = Learner("bison", memory=1000, seed=0)
    >>> learner.observe(images, labels)  # doctest: +SKIP
    >>> learner.predict(images)  # doctest: +SKIP

    `method` is a name, a class or an object. `classes` fixes the number of classes; without it the
    losses cover the classes seen so far and the heads grow. `task_gap`: a new class starts a task
    after that many steps without one, until the first call of `new_task`; None disables this.
    Further keywords are settings of the method, such as `beta=0.2`.

    Only `observe`, `test_then_train`, `flush` and `new_task` change the model. Predictions come
    from a snapshot of it that is at most `refresh` steps old, and newer after a new class, because
    class means over a large memory cost more than a step. `refresh=1` predicts by the last step, as
    a run does. Threads may share a learner: learning takes turns, predictions wait for nobody.

    `rule` is the inference rule: ncm, ncm-raw or ld, each also with -mirror; None for the method's
    own. With the setting `average`, such as 0.995, the averaged weights predict.

    On `device="cuda"` steps are replayed CUDA graphs, unless `backbone` is given. `precision` of
    the convolutions is tf32, bf16 or fp32. `compile=True` compiles steps on a GPU: the first takes
    a minute, and the cache folder keeps compiled steps.
    """

    def __init__(
        self,
        method: str | Method | type[Method] = "bison",
        *,
        memory: int = 1000,
        seed: int = 0,
        classes: int | None = None,
        backbone: nn.Module | None = None,
        task_gap: int | None = 50,
        refresh: int = REFRESH,
        device: str = "cpu",
        precision: Precision = "tf32",
        compile: bool = False,
        rule: str | None = None,
        **settings: Any,
    ) -> None:
        device = found_device(device)
        folder = cache_folder() / "compiled" if compile else None
        own_module = backbone is not None
        self._execution = Execution(device, checked_precision(precision), folder, own_module)
        self._module = backbone
        self._memory, self._seed = whole("memory", memory), whole("seed", seed)
        self._classes = None if classes is None else whole("classes", classes)
        self._task_gap = None if task_gap is None else whole("task_gap", task_gap)
        self._refresh = whole("refresh", refresh)
        self.method = method_of(method, settings)
        check_backbone(backbone, self.method)
        check_memory(self.method, self._memory)
        check_rule(rule, self.method)
        self._rule = rule
        self._engine = self._execution.engine(self.method)
        self._labels = Labels(limit=self._classes)
        self._steps, self._news = 0, 0
        self._backbone: Backbone | None = None
        self._body: Eager | None = None
        self._snapshot: Snapshot | None = None
        self._asked = False
        self._loss: Tensor | None = None
        self._counts = Prequential()
        self._waiting: list[tuple[Tensor, Hashable]] = []
        self._warned = False
        self._turns = Turns()

    # --- learning ---

    @entered
    def observe(self, images: Any, labels: Iterable[Hashable]) -> None:
        """Observe labelled images once; a step learns from each complete stream batch.

        If a step fails, none of the images count, and they may be observed again.
        """
        self._observe(*self._checked(images, labels))

    @entered
    def test_then_train(self, images: Any, labels: Iterable[Hashable]) -> list[Hashable | None]:
        """Predict images, count the right ones in `metrics`, then observe them. The predictions.

        Each image is predicted before any step learns from it; None before the first step.
        """
        x, y = self._checked(images, labels)
        predicted: list[Hashable | None] = []
        while len(predicted) < len(y):
            part = slice(len(predicted), len(predicted) + self._room)
            predicted += self._predicted(x[part])
            self._observe(x[part], y[part])
        self._counts = self._counts.counted(predicted, y)
        return predicted

    def _checked(self, images: Any, labels: Iterable[Hashable]) -> tuple[Tensor, list[Hashable]]:
        x, y = to_bytes(images), self._labels.plain(for_images(is_single(images), labels))
        if len(x) != len(y):
            raise UserError(f"{len(x)} images but {len(y)} labels: give one label per image")
        self._labels.check_room([*(label for _, label in self._waiting), *y])
        self._check_shape(x)
        return x, y

    @property
    def _room(self) -> int:
        """Images until the batch in the making is complete."""
        return self.method.stream_batch - len(self._waiting)

    def _observe(self, x: Tensor, y: Sequence[Hashable]) -> None:
        if len(x) and self._body is None:
            self._go_on_from(self._born(tuple(x.shape[1:]), self._classes or FIRST_CAPACITY))
        self._waiting = [*self._waiting, *zip(x, y, strict=True)]
        size = self.method.stream_batch
        while len(self._waiting) >= size:
            self._learn(size)

    @entered
    def flush(self) -> None:
        """Learn from pending images without waiting for a full batch."""
        self._flush()

    @entered
    def new_task(self) -> None:
        """End the current task; from now on only these calls end tasks."""
        self._flush()
        self._task_gap = None
        if self._body is not None:
            self._body.end_task()
            self._renew_snapshot()
            self._warn_of_refused_steps()

    @entered
    def allow_more_classes(self) -> None:
        """Accept labels beyond `classes`, also in a model of a run.

        From now on the losses cover the classes seen so far, and the heads grow. In a model of a
        run, only `new_task` ends tasks.
        """
        self._classes = None
        self._labels = self._labels.without_limit()
        if self._body is not None:
            self._body.take(replace(self._body.me, closed=False))

    def _flush(self) -> None:
        if self._waiting:
            self._learn(len(self._waiting))

    def _learn(self, size: int) -> None:
        """Take one step on the oldest pending images, without reading from the device."""
        batch = self._waiting[:size]
        labels = self._labels.added(label for _, label in batch)
        fresh = len(labels) > len(self._labels)
        body = self._with_room_for(len(labels))
        if fresh and self._task_gap is not None and self._steps - self._news >= self._task_gap:
            body.end_task()
        ids = torch.tensor([labels.number(label) for _, label in batch])
        new = Batch(torch.stack([image for image, _ in batch]), ids)
        try:
            self._loss = body.step(self._execution.moved(new))
        except UserError as error:
            raise Unlearnable(str(error)) from error
        self._steps += 1
        self._news = self._steps if fresh else self._news
        self._labels, self._waiting = labels, self._waiting[size:]
        if self._asked:  # by another thread, which did not wait
            self._refreshed()

    def _forget_unless_learned(self) -> None:
        """Before the first step, let refused images not fix the image shape."""
        if self._state is not None and self._state.step == 0:
            self._backbone, self._body, self._waiting = None, None, []

    def _warn_of_refused_steps(self) -> None:
        """Warn once, where the host waits for the device anyway: this reads from it."""
        if self._warned or self._state is None:
            return
        if refused := int(self._state.refused):
            self._warned = True
            steps = "1 step was" if refused == 1 else f"{refused} steps were"
            warnings.warn(
                f"{steps} refused because the loss is not finite: use a lower lr", stacklevel=4
            )

    # --- predicting ---

    def predict(self, images: Any, reject_below: float | None = None) -> list[Hashable | None]:
        """The most likely label of each image. It never trains, and never waits for learning.

        `reject_below`: None instead of a label where its probability is lower.
        """
        snapshot, scores = self._scores(images)
        labels: list[Hashable | None] = [snapshot.labels[i] for i in scores.argmax(1).tolist()]
        if reject_below is None:
            return labels
        sure = (scores.softmax(1).amax(1) >= reject_below).tolist()
        return [label if ok else None for label, ok in zip(labels, sure, strict=True)]

    def predict_proba(self, images: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """Softmax of the method's scores: one row per image, one column per entry of `labels`.

        For nearest class mean the scores are −‖z − μ_c‖²: a soft ranking, not calibrated
        probabilities.
        """
        array: np.ndarray[Any, np.dtype[Any]] = self._scores(images)[1].softmax(1).numpy()
        return array

    def score(self, images: Any, labels: Iterable[Hashable]) -> float:
        """Accuracy on labelled images, which are not learned from."""
        y = self._labels.plain(for_images(is_single(images), labels))
        predicted = self.predict(images)
        if len(y) != len(predicted) or not y:
            raise UserError(
                f"{len(predicted)} images but {len(y)} labels: give one label per image"
            )
        return sum(map(bool, map(eq, predicted, y))) / len(y)

    @property
    def labels(self) -> list[Hashable]:
        """The labels that predictions are made of, in order of appearance."""
        snapshot = self._current() if self._steps else None
        return list(snapshot.labels) if snapshot else []

    @property
    def metrics(self) -> Metrics:
        """How good the learner is now, by the images of `test_then_train`, and what it has seen."""
        loss = None if self._loss is None else float(self._loss)
        return Metrics(self._counts, self._steps, len(self._waiting), loss)

    def _predicted(self, x: Tensor) -> list[Hashable | None]:
        return list(self.predict(x)) if self._steps else [None] * len(x)

    def _scores(self, images: Any) -> tuple[Snapshot, Tensor]:
        x = to_bytes(images)
        self._check_shape(x)
        snapshot = self._current()
        with self._execution.active():
            return snapshot, snapshot.scores(x)

    def _current(self) -> Snapshot:
        """The newest snapshot, taken now if it is due and no other thread is learning."""
        snapshot = self._snapshot  # another thread may replace it at any time
        if snapshot is not None and not self._turns.taken(wait=False):
            self._asked = True
            return snapshot
        if snapshot is None:
            self._turns.taken(wait=True)
        try:
            return self._refreshed()
        finally:
            self._turns.given_back()

    def _refreshed(self) -> Snapshot:
        """The snapshot, taken now if it is due; the caller keeps other threads from learning."""
        self._asked = False
        if is_due(self._steps, self._snapshot, self._news, self._every):
            self._snapshot = self._taken()
        assert self._snapshot is not None
        return self._snapshot

    def _renew_snapshot(self) -> None:
        """Replace a snapshot in use, so that predictions need not wait for the next one."""
        if self._snapshot is not None:
            self._snapshot = self._taken()

    def _taken(self) -> Snapshot:
        if self._state is None or not self._steps:
            missing = f"{self._room} more images complete the first batch, or call flush"
            advice = missing if self._waiting else "call observe first"
            raise UserError(f"nothing has been learned yet: {advice}")
        rule = None if self._rule is None else RULES[self._rule]
        with torch.inference_mode(False), self._execution.active():
            self._warn_of_refused_steps()
            labels = tuple(self._labels.all)
            return taken(self._engine, rule, self._state, labels, self._steps)

    @property
    def _every(self) -> int:
        """Steps between two snapshots; each of them where a snapshot costs nothing."""
        heads = self._rule is None and type(self.method).summarise is Method.summarise
        return 1 if heads else self._refresh

    # --- files ---

    @entered
    def save(self, path: str | Path) -> None:
        """Write the learner to one file, including images that wait for their batch.

        A snapshot in use is brought up to date, so that the loaded learner predicts the same.
        """
        if self._state is None:
            raise UserError("nothing has been observed yet: call observe before save")
        self._warn_of_refused_steps()
        self._renew_snapshot()
        tensors, fixed = checkpoint.pack(self._state)
        tensors |= waiting_images(self._waiting)
        header = {
            "kind": "learner",
            "method": name_of(type(self.method)),
            "settings": settings_of(self.method),
            "memory": self._memory,
            "seed": self._seed,
            "classes": self._classes,
            "rows": self._state.classes,
            "shape": list(self._state.memory.x.shape[1:]),
            "backbone": "resnet18" if self._module is None else "module",
            "labels": self._labels.encoded(),
            "task_gap": self._task_gap,
            "steps_without_news": self._steps - self._news,
            "waiting": [encode(label) for _, label in self._waiting],
            "refresh": self._refresh,
            "counts": encoded_counts(self._counts),
            "precision": self._execution.precision,
            "rule": self._rule,
            "fixed": fixed,
        }
        checkpoint.write(Path(path), tensors, header)

    def export(self, path: str | Path, input: str = "uint8") -> None:
        """Write what `predict` computes as an ONNX model (.onnx) or a torch.export program (.pt2).

        In: `images` [B, 3, H, W], bytes or (`input="float32"`) floats in [0, 1], of any batch size.
        Out: `label`, an index into the labels that the file holds, `scores` and `probabilities`.
        """
        from bison_ocl.learner.export.write import checked, export

        where, kind = checked(path, input)
        export(self._current(), self._rule, where, kind)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        method: type[Method] | None = None,
        backbone: nn.Module | None = None,
        device: str = "cpu",
        compile: bool = False,
    ) -> Learner:
        """Load a saved learner in its precision, without running code from the file.

        `method`: the class, required if it is from outside the package, because a file never makes
        us import code. `backbone`: required if it was built with one. `compile`: as for a new
        learner; not saved.
        """
        tensors, values = checkpoint.read(Path(path))
        if values.get("kind") != "learner":
            raise UserError(f"{path} is a checkpoint of `bison-ocl run`: expected a saved learner")
        header = checkpoint.Header(values)
        if (header["backbone"].text() == "module") != (backbone is not None):
            need = "give load(..., backbone=...)" if backbone is None else "leave backbone out"
            raise UserError(f"{path} was saved with another backbone: {need}")
        settings = header["settings"].by_name()
        found = saved_class(path, header["method"].text(), method)
        built(found, None, settings)  # refuses names of other arguments
        rows, shape = header["rows"].whole(least=1), header["shape"].items()
        header["shape"].check(len(shape) == 3)
        header["classes"].check(header["classes"].value in (None, rows))
        precision = values.get("precision", "tf32")  # missing in older files
        header["precision"].check(precision in PRECISIONS)
        rule = values.get("rule")
        header["rule"].check(rule is None or rule in list(RULES))
        refresh = header["refresh"].whole(least=1) if "refresh" in values else REFRESH
        learner = cls(
            found,
            memory=header["memory"].whole(),
            seed=header["seed"].whole(),
            classes=None if header["classes"].value is None else rows,
            backbone=backbone,
            task_gap=header["task_gap"].value,
            refresh=refresh,
            device=device,
            precision=precision,
            compile=compile,
            rule=rule,
            **settings,
        )
        learner._labels = Labels.decoded([x.value for x in header["labels"].items()], rows)
        if learner._classes is None:
            learner._labels = learner._labels.without_limit()
        sides = tuple(side.whole(least=1, most=LARGEST_SIDE) for side in shape)
        checkpoint.check_fit(learner._form(sides, rows), tensors)
        me = checkpoint.unpack(learner._born(sides, rows), tensors, header["fixed"].by_name())
        header["labels"].check(not bool(me.seen[len(learner._labels) :].any()))
        learner._go_on_from(me)
        learner._news = learner._steps - header["steps_without_news"].whole(most=learner._steps)
        learner._waiting = waiting_of(header, tensors, sides)
        header["waiting"].check(learner._room > 0)
        learner._labels.check_room(label for _, label in learner._waiting)
        learner._counts = counts_of(header)
        if isinstance(learner._backbone, ModuleBackbone):
            learner._backbone.start_from(me.net.params["backbone"], me.net.stats)
        return learner

    @classmethod
    def adopt(
        cls, method: Method, memory: int, me: State, labels: Labels, precision: Precision
    ) -> Learner:
        """A learner that continues from the state of a finished run, in its precision."""
        learner = cls(
            method,
            memory=memory,
            seed=int(me.seed),
            classes=me.classes,
            task_gap=None,
            device=str(me.seed.device),
            precision=precision,
        )
        learner._labels = labels
        learner._go_on_from(me)
        return learner

    # --- to look at ---

    def __repr__(self) -> str:
        kept = f"{self._filled} of {self._memory} images kept"
        name, device = name_of(type(self.method)), self._execution.device
        return (
            f"<Learner {name}: {len(self._labels)} classes, {self._steps} steps, {kept}, {device}>"
        )

    def summary(self) -> str:
        """Method, classes, steps, memory, device and accuracy, one line each."""
        counts = self._counts
        tested = f"{counts.accuracy:.1%} of {counts.images:,}" if counts.images else "not tested"
        lines = {
            "method": self.method.title or name_of(type(self.method)),
            "classes": f"{len(self._labels)}",
            "steps": f"{self._steps:,}, {len(self._waiting)} images waiting",
            "memory": f"{self._filled:,} of {self._memory:,} images",
            "device": self._execution.device,
            "accuracy": tested,
        }
        return "\n".join(f"{name:9} {value}" for name, value in lines.items())

    @property
    def _filled(self) -> int:
        return 0 if self._state is None else self._state.memory.filled

    # --- inside ---

    @entered
    def __copy__(self) -> Learner:
        """An independent copy; the memory is cloned because its rows are written in place."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self) | {"_turns": Turns()})
        if self._state is not None:
            memory = tree.map_leaves(torch.clone, self._state.memory)
            twin._go_on_from(replace(self._state, memory=memory))
        return twin

    @entered
    def __getstate__(self) -> dict[str, Any]:
        """For pickles and deep copies: the state without its graphs, which are captured again."""
        return vars(self) | {"_body": self._state, "_snapshot": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        if kept["_body"] is not None:
            self._go_on_from(kept["_body"])

    @property
    def _state(self) -> State | None:
        return None if self._body is None else self._body.me

    def _go_on_from(self, me: State) -> None:
        self._body = self._execution.stepper(self._engine, me)
        self._steps, self._snapshot = int(me.step), None

    def _atomic(self) -> AbstractContextManager[None]:
        """Make the steps inside take effect together, or not at all if one fails."""
        return nullcontext() if self._body is None else self._body.atomic()

    def _born(self, shape: tuple[int, ...], rows: int, device: str | None = None) -> State:
        if self._backbone is None:
            given, asked_for = self._module, self._execution.backbone(self.method, shape)
            self._backbone = asked_for if given is None else ModuleBackbone(given, shape)
        return first_state(
            self.method,
            self._seed,
            self._backbone,
            rows,
            self._memory,
            shape,
            closed=self._classes is not None,
            device=device or self._execution.device,
        )

    def _form(self, shape: tuple[int, ...], rows: int) -> State:
        """A state on the meta device: the expected tensors of a file, without memory."""
        try:
            return self._born(shape, rows, "meta")
        except (RuntimeError, OverflowError) as error:
            raise UserError(
                "the file describes a network that is too large: use another copy"
            ) from error

    def _with_room_for(self, classes: int) -> Eager:
        """The stepper with rows for all classes; heads double in size, and keep their old rows."""
        assert self._body is not None
        while classes > (me := self._body.me).classes:
            larger = self._born(tuple(me.memory.x.shape[1:]), 2 * me.classes)
            self._body.take(grown(me, larger))
        return self._body

    def _check_shape(self, x: Tensor) -> None:
        known = self._state and list(self._state.memory.x.shape[1:])
        if len(x) and known and list(x.shape[1:]) != known:
            _, height, width = known
            raise UserError(
                f"images are {x.shape[2]}x{x.shape[3]}, earlier ones {height}x{width}: resize them"
            )
