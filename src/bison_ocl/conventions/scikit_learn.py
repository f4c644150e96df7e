"""A learner as a scikit-learn classifier (extra `sklearn`).

>>> from sklearn.datasets import load_digits
>>> x, y = load_digits(return_X_y=True)
>>> herd = LearnerClassifier(image_shape=(8, 8), value_range=(0, 16), memory=100)
>>> herd.fit(x[:1000], y[:1000]).score(x[1000:], y[1000:])  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import Tags, check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ModuleNotFoundError as error:
    advice = "pip install 'bison-ocl[sklearn]'"
    raise ModuleNotFoundError(f"scikit-learn missing: {advice}") from error

from bison_ocl.conventions.rows import Array, to_images
from bison_ocl.conventions.settings import checked_settings
from bison_ocl.errors import UserError
from bison_ocl.learner.labels.given import plain_labels
from bison_ocl.learner.learner import Learner
from bison_ocl.learner.predicting import NotLearned
from bison_ocl.methods.method import Method

OWN = ("method", "memory", "rule", "device", "seed")


class LearnerClassifier(ClassifierMixin, BaseEstimator):
    """Online class-incremental learning; X holds images [n, ...] or rows of their values [n, d].

    Parameters
    ----------
    method, memory, rule, device : as for `Learner`
    image_shape : shape of the image in a row, such as (8, 8); None: the smallest square
    value_range : values that stand for black and white, such as (0, 16); None: bytes or [0, 1]
    passes : passes of `fit` over its images, in their order
    settings : other arguments of `Learner` and settings of the method, such as
        {"calibration": 50, "lr": 0.05}
    random_state : seed; a RandomState or None: drawn from it at each `fit`

    `partial_fit` observes images in the order of a stream: a step learns from each complete batch,
    and the others wait for the next call. New classes may appear in any call.
    """

    learner_: Learner
    classes_: Array

    def __init__(
        self,
        method: str | type[Method] = "bison",
        *,
        memory: int = 1000,
        image_shape: tuple[int, ...] | None = None,
        value_range: tuple[float, float] | None = None,
        passes: int = 1,
        rule: str | None = None,
        device: str = "cpu",
        settings: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.method = method
        self.memory = memory
        self.image_shape = image_shape
        self.value_range = value_range
        self.passes = passes
        self.rule = rule
        self.device = device
        self.settings = settings
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> LearnerClassifier:
        """Forget what was learned, and learn from images, without leaving any to wait."""
        if not isinstance(self.passes, Integral) or self.passes < 1:
            raise UserError(f"passes={self.passes}: expected a whole number of at least 1")
        for turn in range(self.passes):
            self._observe(X, y, first=turn == 0)
        self.learner_.flush()
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
    ) -> LearnerClassifier:
        """Observe images once. `classes`: all that will appear, if they are known in advance."""
        self._observe(X, y, first=not hasattr(self, "learner_"), classes=classes)
        return self

    def _observe(self, x: Any, y: Any, first: bool, classes: Any = None) -> None:
        x, y = validate_data(self, x, y, reset=first, allow_nd=True, dtype="numeric")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        known = self.classes_ if not first else y if classes is None else classes
        check_one_type(known, y)
        learner = self._new() if first else self.learner_
        learner.observe(to_images(x, self.image_shape, self.value_range), y)
        # Set last: a failed first call leaves the classifier unfitted.
        self.learner_ = learner
        self.classes_ = np.unique(np.concatenate([known, y]))

    def _new(self) -> Learner:
        return Learner(
            self.method,
            memory=self.memory,
            seed=seed_of(self.random_state),
            rule=self.rule,
            device=self.device,
            **checked_settings(self.settings, OWN, seed="random_state"),
        )

    def predict(self, X: Any) -> Array:
        """The most likely class of each image."""
        best = self.predict_proba(X).argmax(1)
        found: Array = self.classes_[best]
        return found

    def predict_proba(self, X: Any) -> Array:
        """One column per entry of `classes_`; 0 for classes that no step has learned."""
        check_is_fitted(self, "learner_")
        x = validate_data(self, X, reset=False, allow_nd=True, dtype="numeric")
        images = to_images(x, self.image_shape, self.value_range)
        try:
            probabilities = self.learner_.predict_proba(images)
        except NotLearned as error:
            if self.learner_.metrics.steps > 0:  # labels or images were forgotten
                raise
            missing = "no batch is complete: give partial_fit more images, or call fit"
            raise UserError(missing) from error
        table = np.zeros((len(images), len(self.classes_)), probabilities.dtype)
        known = np.searchsorted(self.classes_, np.array(self.learner_.labels))
        table[:, known] = probabilities
        return table

    def __sklearn_tags__(self) -> Tags:
        """Tags with `poor_score`, which frees an estimator from one bound of the checks.

        They ask for 83 % on 300 points in the plane; a network trained in a few passes often has
        less.
        """
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def check_one_type(known: Any, y: Array) -> None:
    """Refuse labels of several types: an array of all classes would merge 1 and '1'."""
    types = {type(label).__name__ for label in [*plain_labels(known), *plain_labels(y)]}
    if len(types) > 1:
        found = " and ".join(sorted(types))
        raise UserError(f"labels are of types {found}: use one type for all labels and classes")


def seed_of(random_state: int | np.random.RandomState | None) -> int:
    """A number as it is, or one drawn by scikit-learn's convention."""
    if isinstance(random_state, int | np.integer):
        return random_state
    return int(check_random_state(random_state).randint(2**31 - 1))
