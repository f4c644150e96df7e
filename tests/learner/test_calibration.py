"""Images held back from learning, and the temperature that is fitted on them."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bison_ocl import Learner, UserError
from bison_ocl.files import checkpoint
from bison_ocl.inference.rules import RULES
from bison_ocl.learner.arrival import Arrival
from bison_ocl.learner.calibration import (
    CENTRED_MEAN,
    NEAREST_MEAN,
    RANGE,
    Fit,
    by_rule,
    fit,
    fitted,
)
from bison_ocl.learner.held_back import EVERY, HeldBack
from bison_ocl.methods.settings import configured
from tests.learners import everything, herd, state
from tests.tiny import images, same


def arrivals(labels: str) -> list[Arrival]:
    return [Arrival(torch.tensor(i), label) for i, label in enumerate(labels)]


# --- which images are held back ---


def test_one_image_in_ten_is_held_back_while_its_label_has_too_few() -> None:
    held, others = HeldBack(4).share(arrivals("a" * 100))
    kept = [int(one.image) for one in held.kept]
    assert [i // 10 for i in kept] == [0, 1, 2, 3]
    assert [int(one.image) for one in others] == [i for i in range(100) if i not in kept]
    assert HeldBack(0).share(arrivals("a" * 100))[1] == arrivals("a" * 100)


def test_labels_share_the_places_and_the_largest_gives_up_its_oldest() -> None:
    held, _ = HeldBack(6).share(arrivals("a" * 100))
    held, _ = held.share(arrivals("b" * 100))
    held, others = held.share(arrivals("c" * 100))
    assert held.counts == {"a": 2, "b": 2, "c": 2}
    assert [int(one.image) // 10 for one in held.kept if one.label == "a"] == [4, 5]
    assert len(others) == 98


@pytest.mark.parametrize("labels", ["ab", "abcde", "abcdefghij"])
def test_labels_that_come_in_turn_share_the_places_too(labels: str) -> None:
    held, _ = HeldBack(20).share(arrivals(labels * 400))
    assert set(held.counts) == set(labels)
    assert min(held.counts.values()) >= 20 // len(labels) - 1


def test_the_callers_batches_do_not_matter() -> None:
    one, _ = HeldBack(5).share(arrivals("abcabcabcabc" * 10))
    other = HeldBack(5)
    for arrival in arrivals("abcabcabcabc" * 10):
        other, _ = other.share([arrival])
    assert one == other


# --- the temperature ---


@pytest.mark.parametrize("wanted", [0.1, 1.0, 3.0])
def test_the_temperature_of_a_model_is_found_again(wanted: float) -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(4000, 5, generator=generator)
    y = torch.multinomial((scores / wanted).softmax(1), 1, generator=generator)[:, 0]
    assert fitted(scores, y) == pytest.approx(wanted, rel=0.2)


def test_it_is_the_minimum_of_the_smoothed_cross_entropy() -> None:
    generator = torch.Generator().manual_seed(1)
    scores, y = torch.randn(30, 4, generator=generator).double(), torch.arange(30) % 4
    scores = scores + torch.nn.functional.one_hot(y, 4)
    found = fitted(scores, y)
    assert found is not None
    targets = torch.full((30, 4), 1 / 32 / 3).double().scatter(1, y[:, None], 31 / 32)

    def loss(temperature: float) -> float:
        return float(-(targets * (scores / temperature).log_softmax(1)).sum(1).mean())

    assert all(loss(found) <= loss(found * by) for by in (0.5, 0.9, 0.99, 1.01, 1.1, 2))


def test_classes_without_an_image_and_too_few_images() -> None:
    scores = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    scores[:, 3] = -torch.inf
    y = torch.arange(20) % 3
    assert fitted(scores, y) == pytest.approx(fitted(scores[:, :3], y))
    assert fitted(scores[:9], y[:9]) is None
    assert fitted(scores[:, :1], torch.zeros(20, dtype=torch.int64)) is None
    assert fitted(scores, torch.full((20,), 3)) is None


@pytest.mark.parametrize(("sign", "end"), [(1, 1 / RANGE), (-1, RANGE)])
def test_a_temperature_at_an_end_of_its_range_is_saved_and_loaded(
    sign: int, end: float, tmp_path: Path
) -> None:
    """Scores so small or so wrong that no temperature in the range is best."""
    y = torch.arange(200) % 4
    assert fitted(1e-9 * sign * torch.eye(4)[y], y) == end
    learner = new("er")
    learner.observe(*herd(200))
    learner.predict(herd(1)[0])
    learner.save(tmp_path / "herd")
    tensors, header = checkpoint.read(tmp_path / "herd")
    for written in (end, math.exp(sign * -math.log(RANGE))):  # and as earlier versions wrote it
        fit = {"temperature": written, "step": 1, "labels": 4}
        checkpoint.write(tmp_path / "herd", tensors, header | {"fit": fit})
        found = Learner.load(tmp_path / "herd")._predicting.fit
        assert found is not None
        assert found.temperature == end


def test_all_right_does_not_mean_certain() -> None:
    y = torch.arange(12) % 3
    found = fitted(torch.nn.functional.one_hot(y, 3).double(), y)
    assert found is not None
    sure = (torch.eye(3) / found).softmax(1).amax(1)
    assert sure.tolist() == pytest.approx([13 / 14] * 3, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "settings", "rule", "wanted"),
    [
        ("bison", {}, None, NEAREST_MEAN),
        ("scr", {}, None, NEAREST_MEAN),
        ("er", {}, "ncm-mirror", NEAREST_MEAN),
        ("er", {}, "ncm-centred-crop", CENTRED_MEAN),
        ("bison", {"ncm_normalise": False}, None, 1.0),
        ("bison-ald", {}, None, 1.0),
        ("er", {}, None, 1.0),
    ],
)
def test_without_images_a_rule_decides(
    name: str, settings: Any, rule: str | None, wanted: float
) -> None:
    assert by_rule(configured(name, None, settings), RULES[rule] if rule else None) == wanted


# --- in a learner ---


def new(name: str = "bison", **options: Any) -> Learner:
    return Learner(name, **{"memory": 40, "filters": 2, "calibration": 16} | options)


def test_held_back_images_count_towards_the_memory_and_are_not_learned() -> None:
    learner = new()
    learner.observe(*herd(300))
    held = learner._training.held_back.kept
    assert len(held) == 16
    assert state(learner).memory.capacity == 24
    assert (learner.memory.capacity, len(learner.memory.held_back)) == (40, 16)
    assert "24 and 16 held back of 40 images" in learner.summary()
    stored = {image.tobytes() for image in learner.memory.images}
    assert not any(one.image.permute(1, 2, 0).numpy().tobytes() in stored for one in held)
    assert int(state(learner).memory.seen) + len(learner._training.waiting) == 300 - 16


def test_without_calibration_nothing_is_held_back() -> None:
    one, other = Learner("er", memory=40, filters=2), new("er", calibration=0)
    for learner in (one, other):
        learner.observe(*herd(100))
        assert learner._training.held_back == HeldBack(0)
    assert same(everything(one), everything(other))
    x, _ = herd(9)
    assert np.array_equal(one.predict_proba(x), one._scores(x)[1].softmax(1).numpy())


def test_the_temperature_follows_and_predictions_use_it(tmp_path: Path) -> None:
    learner = new()
    learner.observe(*herd(300))
    x, _ = herd(30, seed=1)
    snapshot, scores = learner._scores(x)
    assert snapshot.temperature not in (1.0, NEAREST_MEAN)
    sure = (scores / snapshot.temperature).softmax(1)
    assert np.array_equal(learner.predict_proba(x), sure.numpy())
    labels, probabilities = zip(*learner.predict_with_confidence(x), strict=True)
    assert list(labels) == learner.predict(x)
    assert list(probabilities) == sure.amax(1).tolist()
    middle = float(sure.amax(1).median())
    found = learner.predict(x, reject_below=middle)
    assert [one is None for one in found] == (sure.amax(1) < middle).tolist()
    learner.save(tmp_path / "herd")
    loaded = Learner.load(tmp_path / "herd")
    assert np.array_equal(loaded.predict_proba(x), sure.numpy())
    assert [one.label for one in loaded._training.held_back.kept] == [
        one.label for one in learner._training.held_back.kept
    ]
    for one in (learner, loaded):
        one.observe(*herd(250, seed=2))
    assert same(everything(learner), everything(loaded))
    assert np.array_equal(loaded.predict_proba(x), learner.predict_proba(x))


def test_a_head_is_fitted_every_refresh_steps_not_at_every_step() -> None:
    learner = new("er", refresh=5)
    learner.observe(*herd(200))
    steps = []
    for seed in range(12):
        learner.observe(*herd(10, seed=seed))
        learner.predict(herd(1)[0])
        assert learner._predicting.fit is not None
        steps.append(learner._predicting.fit.step)
    assert 3 <= len(set(steps)) <= 4
    now = learner._current()
    assert not Fit(1.0, 10, 4).serves(now, 5)
    assert [Fit(1.0, now.step, labels).serves(now, 5) for labels in (3, 4)] == [False, True]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_a_copy_keeps_the_temperature(copied: Callable[[Any], Any]) -> None:
    learner, (x, _) = new("er"), herd(30, seed=1)
    learner.observe(*herd(300))
    learner.predict(x)
    learner.observe(*herd(10, seed=2))
    wanted = learner.predict_proba(x)
    assert np.array_equal(copied(learner).predict_proba(x), wanted)


def test_a_label_that_is_only_held_back_takes_one_of_the_classes() -> None:
    learner = new("er", classes=2)
    learner.observe(herd(9)[0], [*"aaaaaaaac"])
    assert learner._training.held_back.counts == {"c": 1}
    with pytest.raises(UserError, match="label 'b' would be class 3 of 2"):
        learner.observe(herd(1)[0], ["b"])


def test_forgotten_images_are_not_held_back_either(tmp_path: Path) -> None:
    learner = new("er")
    x, y = herd(200)
    learner.observe(x, y, ids=range(200))
    label, name = learner._training.held_back.kept[0].label, learner._training.held_back.kept[1].id
    pixels = [
        one.image.numpy().tobytes()
        for one in learner._training.held_back.kept
        if one.label == label or one.id == name
    ]
    assert learner.forget(ids=[name]) == 1
    learner.forget(labels=[label])
    assert label not in learner._training.held_back.counts
    learner.save(tmp_path / "herd")
    assert not any(image in (tmp_path / "herd").read_bytes() for image in pixels)


def test_the_temperature_is_fitted_again_without_forgotten_images() -> None:
    learner = new("er")
    learner.observe(*herd(300), ids=range(300))
    before, held = learner._current().temperature, learner._training.held_back.kept
    learner.forget(ids=[one.id for one in held[:5]])
    found = learner._current()
    assert found.temperature == fit(found, held[5:]).temperature != before


def test_each_of_many_labels_may_have_an_image_held_back() -> None:
    held, _ = HeldBack(2).share(arrivals("a" * 20 + "b" * 20 + "c" * 20))
    assert held.counts == {"b": 1, "c": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calibration": 35}, "calibration=35 leaves 5 of 40 images to replay, fewer than a batch"),
        ({"calibration": 50}, "leaves 0 of 40 images"),
        ({"calibration": -1}, "calibration=-1: expected a whole number"),
    ],
)
def test_too_many_are_refused(options: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        new(**options)


@pytest.mark.parametrize(
    "said",
    [
        {"held_back": ["a"] * 99},
        {"held_back": 3},
        {"offered_to_hold_back": -1},
        {"calibration": 39},
        {"fit": {"temperature": 0.0, "step": 1, "labels": 4}},
        {"fit": {"temperature": 1.001 * RANGE, "step": 1, "labels": 4}},
        {"fit": {"temperature": 1.0, "step": 10**6, "labels": 4}},
        {"fit": 3},
    ],
)
def test_forged_values_are_refused(said: Any, tmp_path: Path) -> None:
    learner = new("er")
    learner.observe(*herd(100))
    learner.predict(images(torch.arange(1)))
    learner.save(tmp_path / "herd")
    tensors, header = checkpoint.read(tmp_path / "herd")
    checkpoint.write(tmp_path / "herd", tensors, header | said)
    with pytest.raises(UserError) as caught:
        Learner.load(tmp_path / "herd")
    assert "\n" not in str(caught.value)


def test_every_is_documented() -> None:
    assert EVERY == 10
    assert "One image in ten" in (Learner.__doc__ or "")
