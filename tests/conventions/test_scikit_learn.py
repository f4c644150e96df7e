"""The classifier of scikit-learn's conventions: their own checks, and a learner behind it."""

from __future__ import annotations

import pickle
from collections import UserDict
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bison_ocl import Learner, UserError
from bison_ocl.conventions.scikit_learn import LearnerClassifier

QUICK = {"memory": 50, "settings": {"filters": 2}}
EXCEPTIONS: dict[str, str] = {}
"""checks that do not apply, with their reasons: all do, but for the accuracy that some ask for of
points in the plane (`poor_score`)"""


@parametrize_with_checks(
    [LearnerClassifier(value_range=(-10, 10), **QUICK)],
    expected_failed_checks=lambda _: EXCEPTIONS,
)
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def digits(n: int) -> tuple[Any, Any]:
    x, y = load_digits(return_X_y=True)
    return x[:n], y[:n]


def test_it_is_a_learner() -> None:
    x, y = digits(120)
    images = (x / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    learner = Learner("bison", memory=50, seed=3, filters=2)
    classifier = LearnerClassifier(image_shape=(8, 8), value_range=(0, 16), random_state=3, **QUICK)
    for start in range(0, 120, 33):
        learner.observe(images[start : start + 33], y[start : start + 33])
        classifier.partial_fit(x[start : start + 33], y[start : start + 33])
    assert classifier.predict(x).tolist() == learner.predict(images)
    order = np.argsort(learner.labels)
    np.testing.assert_array_equal(
        classifier.predict_proba(x), learner.predict_proba(images)[:, order]
    )
    learner.flush()
    fitted = clone(classifier).fit(x, y)
    assert fitted.score(x, y) == learner.score(images, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(x), fitted.predict_proba(x))


def test_settings_may_be_other_arguments_of_a_learner() -> None:
    x, y = digits(120)
    settings = QUICK["settings"] | {"calibration": 10, "refresh": 1}
    given = UserDict(settings)  # any mapping
    classifier = LearnerClassifier(value_range=(0, 16), **QUICK | {"settings": given})
    found = clone(classifier).fit(x, y).learner_
    other = Learner("bison", memory=50, filters=2, calibration=10, refresh=1)
    other.observe((x / 16).astype(np.float32).reshape(-1, 1, 8, 8), y)
    other.flush()
    assert len(found.memory.held_back) > 0
    assert found.memory.held_back == other.memory.held_back
    images = np.zeros((1, 8, 8, 3), np.uint8)
    np.testing.assert_array_equal(found.predict_proba(images), other.predict_proba(images))


def test_it_learns_the_digits() -> None:
    """On which scikit-learn's checks ask nothing of it; by chance it would have 0.1."""
    x, y = digits(400)
    chosen = {"image_shape": (8, 8), "value_range": (0, 16), "memory": 100, "passes": 2}
    classifier = LearnerClassifier(**chosen, settings={"filters": 4}).fit(x, y)  # type: ignore[arg-type]
    assert classifier.score(x, y) > 0.2


def test_each_pass_goes_on_from_the_one_before() -> None:
    x, y = digits(40)
    twice = LearnerClassifier(value_range=(0, 16), passes=2, **QUICK).fit(x, y)
    again = LearnerClassifier(value_range=(0, 16), **QUICK).fit(x, y).partial_fit(x, y)
    assert twice.learner_.metrics.steps == again.learner_.metrics.steps == 8
    np.testing.assert_array_equal(twice.predict_proba(x), again.predict_proba(x))


def test_images_need_no_shape() -> None:
    x, y = digits(40)
    images = np.repeat((x.reshape(-1, 8, 8, 1) * 15).astype(np.uint8), 3, axis=3)
    classifier = LearnerClassifier(**QUICK).fit(images, y)
    assert classifier.predict(images).shape == (40,)
    assert classifier.learner_._training.shape == (3, 8, 8)


def test_classes_may_be_known_in_advance_or_appear() -> None:
    x, y = digits(60)
    classifier = LearnerClassifier(value_range=(0, 16), **QUICK)
    classifier.partial_fit(
        x[:30], np.where(y[:30] < 5, "few", "many"), classes=["few", "many", "most"]
    )
    assert classifier.classes_.tolist() == ["few", "many", "most"]
    assert (classifier.predict_proba(x)[:, 2] == 0).all()
    classifier.partial_fit(x[30:], ["all"] * 30)
    assert classifier.classes_.tolist() == ["all", "few", "many", "most"]
    assert set(classifier.predict(x)) <= {"all", "few", "many"}


@pytest.mark.parametrize("other", [str, float, bool])
def test_labels_of_another_type_are_refused_not_merged(other: type) -> None:
    x, y = digits(40)
    classifier = LearnerClassifier(value_range=(0, 16), **QUICK)
    wanted = rf"labels are of types {' and '.join(sorted(['int', other.__name__]))}: use one type"
    with pytest.raises(UserError, match=wanted):
        classifier.partial_fit(x, y, classes=y.astype(other))
    classifier.partial_fit(x[:20], y[:20])
    with pytest.raises(UserError, match=wanted):
        classifier.partial_fit(x[20:], y[20:].astype(other))
    assert classifier.classes_.tolist() == list(range(10))
    assert classifier.learner_.metrics.steps == 2


def test_before_the_first_batch_it_says_what_is_missing() -> None:
    x, y = digits(3)
    classifier = LearnerClassifier(value_range=(0, 16), **QUICK).partial_fit(x, y)
    with pytest.raises(UserError, match="no batch is complete: give partial_fit more images"):
        classifier.predict(x)


def test_once_all_is_forgotten_it_says_so() -> None:
    x, y = digits(20)
    classifier = LearnerClassifier(value_range=(0, 16), **QUICK).fit(x, y)
    classifier.learner_.forget(labels=y)
    with pytest.raises(UserError, match="all labels were forgotten"):
        classifier.predict(x)


def test_a_failed_first_call_leaves_the_classifier_unfitted() -> None:
    x, y = digits(20)
    classifier = LearnerClassifier(image_shape=(8, 8), value_range=(0, 16), **QUICK)
    with pytest.raises(UserError, match="does not hold the 63 values"):
        classifier.partial_fit(x[:, 1:], y, classes=range(99))
    with pytest.raises(NotFittedError):
        classifier.predict(x)
    assert classifier.partial_fit(x, y).classes_.tolist() == list(range(10))


def test_it_works_in_a_pipeline() -> None:
    x, y = digits(60)
    model = make_pipeline(MinMaxScaler(clip=True), LearnerClassifier(image_shape=(8, 8), **QUICK))
    assert len(cross_val_score(model, x, y, cv=2)) == 2
    tuned = clone(model).set_params(learnerclassifier__memory=20)
    assert tuned.get_params()["learnerclassifier__memory"] == 20


def test_shapes_and_ranges_that_do_not_fit_are_refused() -> None:
    x, y = digits(20)
    with pytest.raises(UserError, match=r"image_shape=\(7, 8\) does not hold the 64 values"):
        LearnerClassifier(image_shape=(7, 8), value_range=(0, 16)).fit(x, y)
    with pytest.raises(UserError, match=r"value_range=\(16, 0\): expected \(low, high\)"):
        LearnerClassifier(value_range=(16, 0)).fit(x, y)
    with pytest.raises(UserError, match=r"float images must lie in \[0, 1\], not \[0, 16\]"):
        LearnerClassifier().fit(x, y)
    for wrong in (3, "ab", (0, 1, 2), (0, float("nan")), (0, float("inf"))):
        with pytest.raises(UserError, match=r"expected \(low, high\) with low < high"):
            LearnerClassifier(value_range=wrong).fit(x, y)
    for passes in (0, 1.5, None):
        with pytest.raises(UserError, match=f"passes={passes}: expected a whole number"):
            LearnerClassifier(passes=passes).fit(x, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"memory": 4}, r"settings has 'memory': give LearnerClassifier\(memory=...\)"),
        ({"seed": 4}, r"give LearnerClassifier\(random_state=...\)"),
        (3, "settings=3: expected a dict"),
    ],
)
def test_settings_that_are_arguments_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        LearnerClassifier(value_range=(0, 16), settings=settings).fit(*digits(20))


def test_random_states_are_those_of_scikit_learn() -> None:
    x, y = digits(20)

    def fitted(random_state: Any) -> Any:
        model = LearnerClassifier(value_range=(0, 16), random_state=random_state, **QUICK)
        return model.fit(x, y).predict_proba(x)

    assert np.array_equal(fitted(3), fitted(np.int64(3)))
    drawn = fitted(np.random.RandomState(3))
    assert np.array_equal(drawn, fitted(np.random.RandomState(3)))
    shared = np.random.RandomState(3)
    assert np.array_equal(drawn, fitted(shared))
    assert not np.array_equal(drawn, fitted(shared))
    assert not np.array_equal(fitted(None), fitted(None))
