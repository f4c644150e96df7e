"""The classifier of river's conventions: its own checks, and a learner behind it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from river import checks
from sklearn.datasets import load_digits

from bison_ocl import Learner, UserError
from bison_ocl.conventions.river import LearnerClassifier

BY_TENS = "predictions are {} until the first batch of ten; with batches of one the check holds"
EXCEPTIONS = {"check_predict_proba_one": BY_TENS}


SMALL = {"filters": 2, "lr": 0.01}
"""At the usual rate of 0.1 both filters of the stem may die. All images then look alike, each batch
normalisation multiplies slopes by 1/√ε, and steps are refused, of which a learner warns."""


def new(**settings: Any) -> LearnerClassifier:
    return LearnerClassifier(memory=50, value_range=(-10, 10), settings=SMALL | settings)


def checks_of(model: LearnerClassifier) -> dict[str, Callable[[Any], None]]:
    """River's checks by name and number, as each runs on several datasets."""
    return {f"{check.__name__}-{i}": check for i, check in enumerate(checks.yield_checks(model))}


@pytest.mark.parametrize("name", checks_of(new()))
def test_checks_of_river(name: str) -> None:
    random.seed(0)  # river shuffles and drops features by the global generator
    check = checks_of(new())[name]
    if check.__name__ in EXCEPTIONS:
        with pytest.raises(AssertionError):
            check(new())
        check(new(stream_batch=1, buffer_batch=2))
    else:
        check(new())


def test_it_is_a_learner() -> None:
    x, y = load_digits(return_X_y=True)
    model = LearnerClassifier("er", memory=50, value_range=(0, 16), settings={"filters": 2})
    by_array = LearnerClassifier("er", memory=50, settings={"filters": 2})
    learner = Learner("er", memory=50, filters=2)
    for values, label in zip(x[:47], y[:47].tolist(), strict=True):
        image = (values / 16).astype(np.float32).reshape(8, 8, 1)
        named = {f"{place:02}": value for place, value in enumerate(values)}
        assert model.predict_one(named) == by_array.predict_one(image)
        learner.observe(image, label)
        by_array.learn_one(image, label)
        model.learn_one(named, label)
    assert model.predict_one(named) == learner.predict(image)[0]
    found = model.predict_proba_one(named)
    assert list(found) == learner.labels
    assert list(found.values()) == pytest.approx(learner.predict_proba(image)[0].tolist())


@pytest.mark.parametrize("name", ["{}", "pixel{}", "pixel_{:03}", "row 0, column {}"])
def test_pixels_keep_their_places_whatever_their_names(name: str) -> None:
    """Numbers of `iter_array` are names, too; as text, 10 would come before 2."""
    values = np.arange(64.0)
    named = {
        int(name.format(i)) if name == "{}" else name.format(i): v for i, v in enumerate(values)
    }
    for given in (named, dict(reversed(named.items()))):
        model = LearnerClassifier("er", memory=50, value_range=(0, 63), settings=SMALL)
        model.learn_one(given, "bison")
        pixels = model.learner._training.waiting[0].image
        assert pixels[0].flatten().tolist() == [round(255 * v / 63) for v in values]


def test_values_that_are_missing_are_black_and_new_ones_have_no_place() -> None:
    model = new()
    model.learn_one({"a": 1.0, "b": 2.0, "c": 3.0}, "bison")
    found = model._image({"c": 3.0, "a": 1.0, "d": 4.0})
    assert np.array_equal(found, model._image({"a": 1.0, "b": 0.0, "c": 3.0}))
    assert not np.array_equal(found, model._image({"a": 1.0, "b": 2.0, "c": 3.0}))


def test_nothing_is_predicted_before_the_first_batch() -> None:
    model = new()
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    model.learn_one({"a": 1.0}, "bison")
    assert model.predict_one({"a": 1.0}) is None
    model.learner.flush()
    assert model.predict_one({"a": 1.0}) == "bison"


def test_nothing_is_predicted_once_all_labels_are_forgotten() -> None:
    model = new(stream_batch=1)
    model.learn_one({"a": 1.0}, "bison")
    model.learner.forget(labels=["bison"])
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    model.learn_one({"a": 1.0}, "crane")
    assert model.predict_one({"a": 1.0}) == "crane"


def test_nothing_is_predicted_without_a_stored_image() -> None:
    model = new(stream_batch=1)
    model.learner.observe(model._image({"a": 1.0}), ["bison"], ids=[1])
    model.learner.forget(ids=[1])
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}


def test_an_image_without_values_is_refused_and_decides_nothing() -> None:
    model = new()
    with pytest.raises(UserError, match="rows have no values: expected at least one per image"):
        model.learn_one({}, 1)
    assert model.names is None
    with pytest.raises(UserError, match="settings has 'memory'"):
        new(memory=4)


@pytest.mark.parametrize("value", [None, "red", [1]])
def test_a_value_that_is_no_number_is_refused_by_its_name(value: Any) -> None:
    model = new()
    with pytest.raises(UserError, match=rf"'b' is {re.escape(repr(value))}: expected a number"):
        model.learn_one({"a": 1.0, "b": value}, 1)
    assert model.names is None
