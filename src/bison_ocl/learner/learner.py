"""Learner: learn from a stream of labelled images with observe, predict, save and load.

It discovers image shape and classes; labels are the caller's own, of any hashable type.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import wraps
from operator import eq
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bison_ocl.errors import UserError, plural
from bison_ocl.learner.arguments import checked, least_probability
from bison_ocl.learner.arrival import Arrival, arrivals_from
from bison_ocl.learner.images.convert import is_single, to_bytes
from bison_ocl.learner.labels.given import (
    check_one_each,
    class_labels,
    for_images,
    plain_ids,
    plain_labels,
    plain_names,
)
from bison_ocl.learner.labels.numbers import Labels, check_types
from bison_ocl.learner.memory_view import MemoryView, stored_by_label, view
from bison_ocl.learner.predicting import REFRESH, NotLearned, Predicting, check_answered
from bison_ocl.learner.prequential import Metrics, Prequential
from bison_ocl.learner.saved.reading import SavedLearner
from bison_ocl.learner.saved.writing import write
from bison_ocl.learner.snapshot import Snapshot
from bison_ocl.learner.training import Training
from bison_ocl.memory.removal import numbered
from bison_ocl.methods import name_of
from bison_ocl.methods.method import Method
from bison_ocl.nets.module import Normalise
from bison_ocl.nets.precision import Precision
from bison_ocl.state import State
from bison_ocl.threads import Lock

P = ParamSpec("P")
T = TypeVar("T")


def entered(f: Callable[Concatenate[Learner, P], T]) -> Callable[Concatenate[Learner, P], T]:
    """Make a method wait for other threads, and succeed completely or change nothing.

    It leaves inference mode, because steps take gradients. After a failure the learner is
    unchanged, so that the caller can repeat the call.
    """

    @wraps(f)
    def call(self: Learner, /, *arguments: P.args, **named: P.kwargs) -> T:
        with self._lock, torch.inference_mode(False), self._training.execution.active():
            predicting = vars(self._predicting).copy()
            try:
                with self._training.atomic():
                    return f(self, *arguments, **named)
            except BaseException:
                vars(self._predicting).update(predicting)
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

    Only `observe`, `test_then_train`, `flush`, `new_task` and `forget` change the model.
    Predictions come from a snapshot of it that is at most `refresh` steps old, because class means
    over a large memory cost more than a step, and newer after a new class or with a small memory.
    `refresh=1` predicts by the last step, as a run does. Threads may share a learner: learning
    takes turns, predictions wait for nobody.

    Images are arrays, or lists of arrays, PIL images, paths and bytes of files. `image_size` is the
    side in pixels of the squares that they are resized to; without it all must have one size.

    `backbone`: a module that maps images in [0, 1] to features [B, d], instead of the ResNet-18;
    `normalise` gives it images minus a mean, divided by a deviation, of each channel. One without
    trainable parameters stays frozen, in eval mode, and only heads train.

    `rule` is the inference rule: ncm, ncm-raw, ncm-centred, ld or ld-centred, each also with
    -mirror or -crop; None for the method's own. With the setting `average`, such as 0.995, the
    averaged weights predict.

    `calibration`: so many of the `memory` images are never learned from; the probabilities are
    fitted to the accuracy on them. One image in ten is held back until all labels have a share.

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
        calibration: int = 0,
        image_size: int | None = None,
        normalise: Sequence[Sequence[float]] | None = None,
        **settings: Any,
    ) -> None:
        made = checked(
            method,
            settings,
            memory=memory,
            seed=seed,
            classes=classes,
            backbone=backbone,
            task_gap=task_gap,
            refresh=refresh,
            device=device,
            precision=precision,
            compile=compile,
            rule=rule,
            calibration=calibration,
            image_size=image_size,
            normalise=normalise,
        )
        self.method = made.method
        self._training, self._predicting = Training(made), Predicting()
        self._counts = Prequential()
        self._lock = Lock()

    # --- learning ---

    @entered
    def observe(
        self, images: Any, labels: Iterable[Hashable], ids: Iterable[Hashable] | None = None
    ) -> None:
        """Observe labelled images once; a step learns from each complete stream batch.

        If a step fails, none of the images count, and they may be observed again. `ids`: the
        caller's names of the images, by which `forget` finds them; several may share one.
        """
        self._learn(self._arrivals(images, labels, ids))

    @entered
    def test_then_train(
        self, images: Any, labels: Iterable[Hashable], ids: Iterable[Hashable] | None = None
    ) -> list[Hashable | None]:
        """Predict images, count the right ones in `metrics`, then observe them. The predictions.

        Each image is predicted before any step learns from it; None before the first step, and
        where nothing is stored to compare with.
        """
        arrivals = self._arrivals(images, labels, ids)
        predicted: list[Hashable | None] = []
        while part := arrivals[len(predicted) : len(predicted) + self._training.room]:
            predicted += self._predicted_or_none(torch.stack([one.image for one in part]))
            self._learn(part)
        self._counts = self._counts.counted(predicted, [one.label for one in arrivals])
        return predicted

    @entered
    def flush(self) -> None:
        """Learn from pending images without waiting for a full batch."""
        self._flush()

    @entered
    def new_task(self) -> None:
        """End the current task; from now on only these calls end tasks."""
        self._flush()
        self._training.end_task()
        self._predicting.renew(self._training)
        self._training.warn_of_refused_steps()

    @entered
    def allow_more_classes(self) -> None:
        """Accept labels beyond `classes`, also in a model of a run.

        From now on the losses cover the classes seen so far, and the heads grow. In a model of a
        run, only `new_task` ends tasks.
        """
        self._training.open_to_more_classes()

    def _arrivals(
        self, images: Any, labels: Iterable[Hashable], ids: Iterable[Hashable] | None
    ) -> list[Arrival]:
        x, single = self.preprocess(images), is_single(images)
        y = class_labels(for_images(single, labels))
        check_one_each(len(x), len(y), "label")
        self._training.check(x, y)
        names = [None] * len(y) if ids is None else plain_ids(for_images(single, ids), len(y))
        return arrivals_from(x, y, names)

    def _predicted_or_none(self, x: Tensor) -> list[Hashable | None]:
        try:
            return self.predict(x)
        except NotLearned:
            return [None] * len(x)

    def _learn(self, arrivals: Sequence[Arrival]) -> None:
        self._training.enqueue(arrivals)
        while self._training.room <= 0:
            self._step()

    def _flush(self) -> None:
        if self._training.waiting:
            self._step()

    def _step(self) -> None:
        self._training.step()
        self._predicting.after_step(self._training)

    # --- the memory ---

    @property
    @entered
    def memory(self) -> MemoryView:
        """The images in the memory, with labels, ids and ages, in copies.

        It also has the labels and ids of images that are held back or wait for their batch.
        """
        return view(self._training)

    @property
    def capacity(self) -> int:
        """The largest number of stored images, those that `calibration` holds back included."""
        return self._training.arguments.memory

    @property
    def stored_by_label(self) -> dict[Hashable, int]:
        """Stored images of each label, in the order of `learned_labels`; it waits for nobody."""
        return stored_by_label(self._training)

    @entered
    def forget(
        self, *, ids: Iterable[Hashable] | None = None, labels: Iterable[Hashable] | None = None
    ) -> int:
        """Remove images by their ids, or all images of labels; how many were removed.

        They leave the memory, the images that wait, class means and the next file, and are never
        replayed again. A forgotten label leaves the predictions and `metrics.by_label`, its class
        vectors are drawn again, and it counts as new if it returns. The weights keep what they
        learned: only a learner trained without the images knows nothing of them. Earlier files are
        the caller's to delete.
        """
        if (ids is None) == (labels is None):
            raise UserError("forget by ids=[...] or by labels=[...]: give one of them")
        images = plain_names([] if ids is None else ids, "id")
        classes = plain_names([] if labels is None else labels, "label")
        gone = self._training.forget(images, classes)
        self._predicting.fit = None
        self._predicting.renew(self._training)
        self._counts = self._counts.without(classes)
        return gone

    # --- predicting ---

    def predict(self, images: Any, reject_below: float | None = None) -> list[Hashable | None]:
        """The most likely label of each image. It never trains, and never waits for learning.

        `reject_below`: None instead of a label where its probability is lower.
        """
        return [label for label, _ in self.predict_with_confidence(images, reject_below)]

    def predict_with_confidence(
        self, images: Any, reject_below: float | None = None
    ) -> list[tuple[Hashable | None, float]]:
        """The most likely label of each image with its probability.

        Both are of one snapshot, also while another thread learns.
        """
        least = least_probability(reject_below)
        snapshot, scores = self._scores(images)
        best = scores.argmax(1, keepdim=True)
        sure = snapshot.probabilities(scores).gather(1, best)
        found = zip(best[:, 0].tolist(), sure[:, 0].tolist(), strict=True)
        return [(snapshot.labels[i] if p >= least else None, p) for i, p in found]

    def predict_proba(self, images: Any) -> NDArray[np.float32]:
        """One row per image, one column per entry of `labels`: softmax of scores / temperature.

        The temperature is fitted on the images that `calibration` holds back. Without them it is 1
        for the logits of a head, and 0.1 for nearest class mean, whose scores are −‖z − μ_c‖².
        """
        snapshot, scores = self._scores(images)
        probabilities: NDArray[np.float32] = snapshot.probabilities(scores).numpy()
        return probabilities

    def score(self, images: Any, labels: Iterable[Hashable]) -> float:
        """Accuracy on labelled images, which are not learned from."""
        y = plain_labels(for_images(is_single(images), labels))
        check_types(self.learned_labels, y)
        predicted = self.predict(images)
        check_one_each(len(predicted), len(y), "label")
        if not y:
            raise UserError("no images: accuracy needs at least one")
        return sum(map(bool, map(eq, predicted, y))) / len(y)

    @property
    def labels(self) -> list[Hashable]:
        """The labels that predictions are made of, in order of appearance."""
        return list(self._current().labels) if self._training.knows else []

    @property
    def learned_labels(self) -> list[Hashable]:
        """The labels of the newest step, which `labels` may lag behind; it takes no snapshot."""
        return list(self._training.labels.all)

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """[3, H, W] of the images; None before the first."""
        return self._training.shape

    def preprocess(self, images: Any) -> Tensor:
        """Images as they are learned, predicted and stored: bytes [B, 3, H, W] of `image_size`."""
        return to_bytes(images, self._training.arguments.image_size)

    def _scores(self, images: Any) -> tuple[Snapshot, Tensor]:
        x = self.preprocess(images)
        self._training.check_shape(x)
        snapshot = self._current()
        with self._training.execution.ahead_of_steps():
            scores = snapshot.scores(x)
        check_answered(scores)
        return snapshot, scores

    def _current(self) -> Snapshot:
        return self._predicting.current(self._training, self._lock)

    # --- files ---

    @entered
    def save(self, path: str | Path) -> None:
        """Write the learner to one file, including images that wait for their batch.

        The file keeps the class means in use, so that a loaded learner predicts the same.
        """
        self._training.warn_of_refused_steps()
        write(Path(path), self._training, self._predicting, self._counts)

    def export(self, path: str | Path, input: str = "uint8") -> None:
        """Write what `predict` computes as an ONNX model (.onnx) or a torch.export program (.pt2).

        In: `images` [B, 3, H, W], bytes or (`input="float32"`) floats in [0, 1], of any batch size.
        Out: `label`, an index into the labels that the file holds, `scores` and `probabilities`.
        """
        from bison_ocl.learner.export.write import checked, export

        where, kind = checked(path, input)
        export(self._current(), self._training.arguments.rule_name, where, kind)

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
        file = SavedLearner.read(Path(path))
        learner = cls(**file.arguments(method, backbone), device=device, compile=compile)
        with learner._training.execution.active():
            file.restore(learner._training)
            learner._predicting.snapshot = file.snapshot(learner._training)
            learner._training.execution.wait()
            learner._predicting.fit = file.fit(learner._training)
        learner._counts = file.counts
        return learner

    @classmethod
    def adopt(
        cls,
        method: Method,
        memory: int,
        me: State,
        labels: Labels,
        precision: Precision,
        backbone: nn.Module | None = None,
        normalise: Normalise | None = None,
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
            backbone=backbone,
            normalise=normalise,
        )
        learner._training.labels = labels
        learner._training.start(replace(me, memory=numbered(me.memory)))
        return learner

    @entered
    def __copy__(self) -> Learner:
        """An independent copy."""
        twin = object.__new__(type(self))
        parts = {"_training": copy.copy(self._training), "_predicting": copy.copy(self._predicting)}
        vars(twin).update(vars(self) | parts | {"_lock": Lock()})
        return twin

    @entered
    def __deepcopy__(self, memo: dict[int, Any]) -> Learner:
        """An independent copy, made while no thread learns."""
        twin = object.__new__(type(self))
        vars(twin).update(copy.deepcopy(vars(self), memo))
        return twin

    @entered
    def __getstate__(self) -> dict[str, Any]:
        """For pickles: the attributes of one moment. No thread may learn until it is written.

        Copied tensors would make two pickles of one learner differ, which river takes for a change.
        """
        kept = object.__new__(Training)
        vars(kept).update(vars(self._training))
        return vars(self) | {"_training": kept}

    # --- to look at ---

    @property
    def metrics(self) -> Metrics:
        """How good the learner is now, by the images of `test_then_train`, and what it has seen."""
        training = self._training
        loss = None if training.loss is None else float(training.loss)
        return Metrics(self._counts, training.steps, len(training.waiting), loss)

    def __repr__(self) -> str:
        training, name = self._training, name_of(type(self.method))
        kept = f"{sum(self.stored_by_label.values())} of {self.capacity} images kept"
        learned = plural(len(training.labels), "class"), plural(training.steps, "step")
        found = ", ".join((*learned, kept))
        return f"<Learner {name}: {found}, {training.execution.device}>"

    def summary(self) -> str:
        """Method, classes, steps, memory, device and accuracy, one line each."""
        counts, training = self._counts, self._training
        stored = sum(self.stored_by_label.values())
        waiting, held_back = len(training.waiting), len(training.held_back.kept)
        more = f" and {held_back:,} held back" if held_back else ""
        tested = f"{counts.accuracy:.1%} of {counts.images:,}" if counts.images else "not tested"
        lines = {
            "method": self.method.title or name_of(type(self.method)),
            "classes": f"{len(training.labels)}",
            "steps": f"{training.steps:,}, {plural(waiting, 'image')} waiting",
            "memory": f"{stored:,}{more} of {self.capacity:,} images",
            "device": training.execution.device,
            "accuracy": tested,
        }
        return "\n".join(f"{name:9} {value}" for name, value in lines.items())
