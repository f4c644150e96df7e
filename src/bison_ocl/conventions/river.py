"""A learner as a river classifier (extra `river`): one image at a time."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

try:
    from river import base
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("river missing: pip install 'bison-ocl[river]'") from error

from bison_ocl.conventions.rows import Array, to_images
from bison_ocl.conventions.settings import checked_settings
from bison_ocl.errors import UserError
from bison_ocl.learner.learner import Learner
from bison_ocl.learner.predicting import NotLearned
from bison_ocl.methods.method import Method

OWN = ("method", "memory", "rule", "seed")


class LearnerClassifier(base.Classifier):
    """Online class-incremental learning; `x` is an image, or its values by name.

    Values are placed in the order of their names, numbers in a name by value: 2 before 10.
    `method`, `memory`, `rule` and `seed` are those of `Learner`; `settings` are its other arguments
    and those of the method, such as {"calibration": 50, "lr": 0.05}.
    `image_shape` and `value_range` say what the values are, (8, 8) and (0, 16) for digits of 8x8.
    A step learns from each complete batch. Without a learned label, as before the first step,
    predictions are None and {}.
    """

    def __init__(
        self,
        method: str | type[Method] = "bison",
        memory: int = 1000,
        image_shape: tuple[int, ...] | None = None,
        value_range: tuple[float, float] | None = None,
        rule: str | None = None,
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        self.method, self.memory, self.rule = method, memory, rule
        self.image_shape, self.value_range = image_shape, value_range
        self.settings, self.seed = settings, seed
        more = checked_settings(settings, OWN)
        self.learner = Learner(method, memory=memory, seed=seed, rule=rule, **more)
        self.names: list[Hashable] | None = None

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Any, y: Hashable) -> None:
        """Observe one image."""
        self.learner.observe(self._image(x), [y])
        if isinstance(x, dict) and self.names is None:  # an image that was refused decides nothing
            self.names = in_order(x)

    def predict_proba_one(self, x: Any, **kwargs: Any) -> dict[Any, float]:
        """The probability of each learned label."""
        try:
            found = self.learner.predict_proba(self._image(x))[0].astype(np.float64)
        except NotLearned:
            return {}
        return dict(zip(self.learner.labels, (found / found.sum()).tolist(), strict=True))

    def _image(self, x: Any) -> Array:
        """A batch of one; values by name in a fixed order, 0 for a missing one."""
        if isinstance(x, dict):
            x = np.array([[number(name, x.get(name, 0)) for name in self.names or in_order(x)]])
        else:
            x = np.asarray(x)[None]
        return to_images(x, self.image_shape, self.value_range)


def number(name: Hashable, value: Any) -> float:
    """A value as a number, refused by its name if it is none."""
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise UserError(f"{name!r} is {value!r:.60}: expected a number") from error


def in_order(names: Iterable[Hashable]) -> list[Hashable]:
    """Names of pixels row by row, whatever the order of a dict."""

    def key(name: Hashable) -> tuple[list[str | int], str]:
        parts = re.split(r"([0-9]+)", str(name))  # text and digits in turn
        return [int(part) if i % 2 else part for i, part in enumerate(parts)], str(name)

    return sorted(names, key=key)
