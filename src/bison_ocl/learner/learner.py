"""Learner: learn from a stream of labelled images with observe, predict, save and load.

It discovers image shape and classes; labels are the caller's own, of any hashable type.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable
from contextlib import AbstractContextManager, nullcontext
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
from bison_ocl.data.storage.places import cache_folder
from bison_ocl.engine.eager import Eager
from bison_ocl.engine.execution import Execution
from bison_ocl.errors import UserError, unknown
from bison_ocl.files import checkpoint
from bison_ocl.inference.rules import RULES
from bison_ocl.learner.growth import grown
from bison_ocl.learner.images import to_bytes
from bison_ocl.learner.labels import Labels
from bison_ocl.methods import METHODS, method_class, name_of
from bison_ocl.methods.method import Method
from bison_ocl.methods.outside import check_method
from bison_ocl.methods.settings import built, configured, settings_of
from bison_ocl.methods.start import check_memory, first_state
from bison_ocl.nets.module import ModuleBackbone
from bison_ocl.nets.net import Backbone
from bison_ocl.nets.precision import PRECISIONS, Precision, checked_precision
from bison_ocl.state import State
from bison_ocl.threads import Turns

FIRST_CAPACITY = 8
"""initial rows of the heads if the number of classes is not given; they double as needed"""

LARGEST_SIDE = 4096
"""pixels of an image side in a valid file"""

P = ParamSpec("P")
T = TypeVar("T")


class Unlearnable(UserError):
    """Images that a step refuses."""


def entered(f: Callable[Concatenate[Learner, P], T]) -> Callable[Concatenate[Learner, P], T]:
    """Make a method wait for other threads, and succeed completely or change nothing.

    It leaves inference mode, because `predict` may learn from pending images. After a failure the
    learner is unchanged, so that the caller can repeat the call.
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
                self._summary = None  # the call may have overwritten its buffers
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
    Further keywords are settings of the method, such as `beta=0.2`. Threads may share a learner;
    they take turns.

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
        device: str = "cpu",
        precision: Precision = "tf32",
        compile: bool = False,
        rule: str | None = None,
        **settings: Any,
    ) -> None:
        check_backbone(backbone)
        check_device(device)
        folder = cache_folder() / "compiled" if compile else None
        own_module = backbone is not None
        self._execution = Execution(device, checked_precision(precision), folder, own_module)
        self._module = backbone
        self._memory, self._seed = whole("memory", memory), whole("seed", seed)
        self._classes = None if classes is None else whole("classes", classes)
        self._task_gap = None if task_gap is None else whole("task_gap", task_gap)
        self.method = method_of(method, settings)
        check_memory(self.method, self._memory)
        check_rule(rule, self.method)
        self._rule = rule
        self._engine = self._execution.engine(self.method)
        self._labels = Labels(limit=self._classes)
        self._steps_without_news = 0
        self._backbone: Backbone | None = None
        self._body: Eager | None = None
        self._summary: Any = None
        self._waiting: list[tuple[Tensor, Hashable]] = []
        self._warned = False
        self._turns = Turns()

    # --- learning ---

    @entered
    def observe(self, images: Any, labels: Iterable[Hashable]) -> None:
        """Observe labelled images once; a step learns from each complete stream batch.

        If a step fails, none of the images count, and they may be observed again.
        """
        x, y = to_bytes(images), self._labels.plain(labels)
        if len(x) != len(y):
            raise UserError(f"{len(x)} images but {len(y)} labels: give one label per image")
        self._labels.check_room([*(label for _, label in self._waiting), *y])
        self._check_shape(x)
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
            self._summary = None
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
        if fresh and self._task_gap is not None and self._steps_without_news >= self._task_gap:
            body.end_task()
        ids = torch.tensor([labels.number(label) for _, label in batch])
        new = Batch(torch.stack([image for image, _ in batch]), ids)
        try:
            body.step(self._execution.moved(new))
        except UserError as error:
            raise Unlearnable(str(error)) from error
        self._steps_without_news = 0 if fresh else self._steps_without_news + 1
        self._labels, self._waiting, self._summary = labels, self._waiting[size:], None

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

    @entered
    def predict(self, images: Any) -> list[Hashable]:
        """The most likely label of each image, after learning from pending images."""
        return [self._labels.all[i] for i in self._scores(images).argmax(1).tolist()]

    @entered
    def predict_proba(self, images: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """Softmax of the method's scores: one row per image, columns in the order of `labels`.

        For nearest class mean the scores are −‖z − μ_c‖²: a soft ranking, not calibrated
        probabilities.
        """
        array: np.ndarray[Any, np.dtype[Any]] = self._scores(images).softmax(1).numpy()
        return array

    @property
    @entered
    def labels(self) -> list[Hashable]:
        """The labels seen so far in order of appearance, including pending images."""
        return list(dict.fromkeys([*self._labels.all, *(label for _, label in self._waiting)]))

    def _scores(self, images: Any) -> Tensor:
        x = to_bytes(images)
        self._check_shape(x)
        self._flush()
        if self._state is None:
            raise UserError("nothing has been learned yet: call observe before predict")
        self._warn_of_refused_steps()
        if self._summary is None:
            self._summary = self._summarised(self._state.averaged())
        if len(x) == 0:
            return torch.zeros(0, len(self._labels))
        (me, summary), x = self._summary, x.to(self._execution.device)
        if self._rule is None:
            scores = self._engine.scores(me, summary, x)
        else:
            scores = self._engine.scores_by(RULES[self._rule], me, summary, x)
        return scores[:, : len(self._labels)].cpu()

    def _summarised(self, me: State) -> tuple[State, Any]:
        """The state that predicts, and what its rule of inference needs."""
        summary = self._engine.summarise(me)
        if self._rule is not None:
            summary = self._engine.summarise_by(RULES[self._rule], me, summary)
        return me, summary

    # --- files ---

    @entered
    def save(self, path: str | Path) -> None:
        """Write the learner to one file, after learning from pending images."""
        self._flush()
        if self._state is None:
            raise UserError("nothing has been learned yet: call observe before save")
        self._warn_of_refused_steps()
        tensors, fixed = checkpoint.pack(self._state)
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
            "steps_without_news": self._steps_without_news,
            "precision": self._execution.precision,
            "rule": self._rule,
            "fixed": fixed,
        }
        checkpoint.write(Path(path), tensors, header)

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
        learner = cls(
            found,
            memory=header["memory"].whole(),
            seed=header["seed"].whole(),
            classes=None if header["classes"].value is None else rows,
            backbone=backbone,
            task_gap=header["task_gap"].value,
            device=device,
            precision=precision,
            compile=compile,
            rule=rule,
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
        learner._go_on_from(me)
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

    # --- inside ---

    @entered
    def __copy__(self) -> Learner:
        """An independent copy; the memory is cloned because its rows are written in place."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self) | {"_turns": Turns(), "_summary": None})
        if self._state is not None:
            memory = tree.map_leaves(torch.clone, self._state.memory)
            twin._go_on_from(replace(self._state, memory=memory))
        return twin

    @entered
    def __getstate__(self) -> dict[str, Any]:
        """For pickles and deep copies: the state without its graphs, which are captured again."""
        return vars(self) | {"_body": self._state, "_summary": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        if kept["_body"] is not None:
            self._go_on_from(kept["_body"])

    @property
    def _state(self) -> State | None:
        return None if self._body is None else self._body.me

    def _go_on_from(self, me: State) -> None:
        self._body = self._execution.stepper(self._engine, me)

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


LEAST = {"memory": 0, "seed": 0, "classes": 1, "task_gap": 1}


def whole(name: str, value: Any) -> int:
    """A whole number of Python or numpy, refused if out of range."""
    try:
        number = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = -1
    if not LEAST[name] <= number < 2**62:
        raise UserError(f"{name}={value!r}: expected a whole number of at least {LEAST[name]}")
    return number


def method_of(method: object, settings: dict[str, Any]) -> Method:
    """The method of a name, a class or an object."""
    if isinstance(method, str):
        return configured(method, None, settings)
    if isinstance(method, Method):
        check_method(type(method))
        if settings:
            given = ", ".join(settings)
            raise UserError(f"{given}: give settings to {type(method).__name__}(...) itself")
        return method
    if not isinstance(method, type):
        raise UserError(f"method={method!r}: expected a name, such as 'bison', or a class")
    check_method(method)
    return built(method, None, settings)


def saved_class(path: str | Path, name: str, given: type[Method] | None) -> type[Method]:
    """The method class of a saved learner: one of this package, or the given one."""
    if given is None and name not in METHODS:
        advice = f"give load(..., method={name.title()})"
        raise UserError(f"{path} is of the method {name!r} from outside this package: {advice}")
    if given is not None:
        check_method(given)
        if name_of(given) != name:
            raise UserError(f"{path} is of the method {name!r}, not of {name_of(given)!r}")
    return given or method_class(name)


def check_backbone(backbone: object) -> None:
    """Refuse a backbone that is no module."""
    if not (backbone is None or isinstance(backbone, nn.Module)):
        raise UserError(f"backbone={backbone!r}: expected a torch.nn.Module that returns features")


def check_rule(name: object, method: Method) -> None:
    """A rule of inference that there is, for a method with a memory to read."""
    if name is None:
        return
    if name not in list(RULES):
        raise UserError(unknown("rule", str(name), RULES))
    if not method.replays:
        raise UserError(f"rule={name!r} needs a memory, but this method has none")


def check_device(name: str) -> None:
    """Refuse a device that torch does not know or find."""
    try:
        kind = torch.device(name).type
    except (RuntimeError, TypeError):
        kind = "unknown"
    if kind not in ("cpu", "cuda"):
        raise UserError(f"device={name!r}: expected cpu or cuda")
    if kind == "cuda" and not torch.cuda.is_available():
        raise UserError(f"device={name!r}: torch finds no GPU here; use cpu")
