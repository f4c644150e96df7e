"""Predictions are labels that were seen; asking changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from bison_ocl.methods import METHODS
from tests.learners import ANIMALS, everything, herd, trained
from tests.tiny import same


@pytest.mark.parametrize("name", sorted(METHODS))
def test_predictions_are_labels_seen(name: str) -> None:
    learner = trained(name, classes=10)
    x, _ = herd(30, classes=8, seed=1)
    found = learner.predict(x)
    assert len(found) == 30
    assert set(found) <= set(learner.labels)
    share = learner.predict_proba(x)
    assert share.shape == (30, 4)
    np.testing.assert_allclose(share.sum(1), 1, rtol=1e-5)
    assert [learner.labels[i] for i in share.argmax(1)] == found


def test_a_learnable_stream_is_learned() -> None:
    learner = trained("bison", n=200)
    x, y = herd(40, seed=1)
    hits = [a == ANIMALS[b] for a, b in zip(learner.predict(x), y, strict=True)]
    assert sum(hits) > 30


def test_predicting_changes_nothing() -> None:
    learner = trained()
    before = everything(learner)
    x, _ = herd(5)
    assert learner.predict(x) == learner.predict(x)
    assert same(before, everything(learner))


def test_predictions_follow_what_was_learned_since() -> None:
    learner = trained(n=10)
    x, _ = herd(40, seed=3)
    before = learner.predict_proba(x)
    learner.observe(*herd(10, seed=4))
    assert learner.predict_proba(x).shape != before.shape
    early = learner.predict_proba(x)
    learner.observe(*herd(10, seed=5))
    assert not np.array_equal(early, learner.predict_proba(x))
