"""The memory of a learner: what it shows, and what it forgets on request."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import ImageFont
from torch import Tensor

from bison_ocl import Learner, UserError, tree
from bison_ocl.data.sheet import fitting
from bison_ocl.files import checkpoint
from bison_ocl.learner.saved.memory import memory_in
from bison_ocl.memory.memory import ARRIVED
from bison_ocl.methods import METHODS
from tests.learners import ANIMALS, everything, herd, quick_settings, state
from tests.tiny import images, same

REPLAYING = sorted(set(METHODS) - {"finetune"})


def new(name: str = "er", **options: Any) -> Learner:
    return Learner(name, **{"memory": 20, "task_gap": 3} | quick_settings(name) | options)


def told(n: int, seed: int = 0) -> tuple[Tensor, list[str], list[str]]:
    """Images, labels and ids."""
    x, y = herd(n, seed=seed)
    return x, [ANIMALS[i] for i in y], [f"{seed}-{i}" for i in range(n)]


# --- what it shows ---


@pytest.mark.parametrize("name", ["er", "gdumb", "gss", "lode"])
def test_every_row_has_the_label_and_id_it_came_with(name: str) -> None:
    learner = new(name)
    sent = {}
    for seed in range(6):
        x, y, ids = told(17, seed)
        learner.observe(x, y, ids=ids)
        for image, label, one in zip(x, y, ids, strict=True):
            sent[one] = (image.permute(1, 2, 0).numpy(), label)
    learner.flush()
    memory = learner.memory
    assert len(memory) == state(learner).memory.filled == 20
    assert memory.bytes == 20 * 8 * 8 * 3
    for image, label, one in zip(memory.images, memory.labels, memory.ids, strict=True):
        assert np.array_equal(image, sent[str(one)][0])
        assert label == sent[str(one)][1]
    assert len(set(memory.ids)) == 20


def test_age_counts_steps_since_an_image_was_stored() -> None:
    learner = new(memory=30)
    learner.observe(*herd(25))
    assert learner.memory.age == [1] * 10 + [0] * 10
    learner.flush()
    assert learner.memory.age == [2] * 10 + [1] * 10 + [0] * 5
    assert learner.memory.ids == [None] * 25


def test_before_the_first_image_the_memory_is_empty() -> None:
    memory = new().memory
    assert (len(memory), memory.bytes, memory.capacity, memory.labels) == (0, 0, 20, [])
    assert memory.contact_sheet().size[0] > 0


def test_the_view_is_a_copy() -> None:
    learner = new()
    learner.observe(*herd(20))
    before = everything(learner)
    learner.memory.images[:] = 7
    assert same(before, everything(learner))


def test_counts_need_no_copy_of_the_images() -> None:
    learner = new()
    assert (learner.stored_by_label, learner.learned_labels) == ({}, [])
    assert (learner.capacity, learner.image_shape) == (20, None)
    x, y = herd(40)
    learner.observe(x, y)
    assert learner.stored_by_label == learner.memory.counts
    assert list(learner.stored_by_label) == learner.learned_labels == learner.labels
    assert (learner.memory.capacity, learner.image_shape) == (20, tuple(x.shape[1:]))


def test_images_are_stored_as_they_are_preprocessed() -> None:
    learner = new(image_size=8)
    x = np.random.default_rng(0).integers(0, 256, (10, 12, 12, 3), np.uint8)
    learner.observe(x, range(10))
    wanted = learner.preprocess(x).permute(0, 2, 3, 1).numpy()
    assert np.array_equal(learner.memory.images, wanted)


def test_a_contact_sheet_shows_the_newest_images_of_each_label() -> None:
    learner = new(memory=100)
    x = torch.zeros(100, 3, 8, 8, dtype=torch.uint8)
    x[90:, 0] = 255
    learner.observe(x, ["a"] * 80 + ["b"] * 20)
    sheet = np.asarray(learner.memory.contact_sheet())
    red = (sheet == (255, 0, 0)).all(-1)
    assert red.any()
    assert not red[: sheet.shape[0] // 2].any()


def test_long_names_on_a_contact_sheet_are_cut_at_once() -> None:
    measured: list[str] = []

    class Font(ImageFont.ImageFont):
        def getlength(self, text: str, *_: Any, **__: Any) -> float:
            measured.append(text)
            return 7.0 * len(text)

    assert fitting("bison", Font()) == "bison"
    assert fitting("bison" * 10_000, Font()) == "bisonbisonbisonbisonb…"
    assert len(measured) < 200


def test_few_ids_are_kept_beyond_those_of_the_memory() -> None:
    learner = new("finetune", stream_batch=10)
    other = new(memory=10)
    for seed in range(30):
        x, y, ids = told(10, seed)
        learner.observe(x, y, ids=ids)
        other.observe(x, y, ids=ids)
    assert len(other._training.ids) <= 40
    assert None not in other.memory.ids
    assert len(learner.memory) == 0


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a"], "2 images but 1 id: give one id"),
        ([object(), "b"], "^id <object .* cannot be saved: use strings"),
        ("ab", "ids must be a sequence with one id per image, not str"),
        ([[1], 2], "an id of type list is not one hashable value"),
        ([1.0, float("nan")], "an id is NaN"),
    ],
)
def test_ids_that_are_no_names_are_refused(ids: Any, message: str) -> None:
    learner = new()
    with pytest.raises(UserError, match=message):
        learner.observe(images(torch.arange(2)), ["a", "b"], ids=ids)
    assert not learner._training.waiting


def test_ids_and_ages_are_kept_in_files(tmp_path: Path) -> None:
    learner = new()
    learner.observe(*told(37)[:2], ids=told(37)[2])
    learner.save(tmp_path / "herd")
    for found in (Learner.load(tmp_path / "herd").memory, memory_in(tmp_path / "herd")):
        assert (found.ids, found.age) == (learner.memory.ids, learner.memory.age)
        assert found.labels == learner.memory.labels
        assert np.array_equal(found.images, learner.memory.images)
        assert found.capacity == 20
    again = Learner.load(tmp_path / "herd")
    assert [one.id for one in again._training.waiting] == told(37)[2][30:]


def test_images_held_back_or_waiting_are_shown_too(tmp_path: Path) -> None:
    learner = new(memory=80, calibration=20)
    x, y, ids = told(58)
    learner.observe(x, y, ids=ids)
    learner.save(tmp_path / "herd")
    for found in (learner.memory, memory_in(tmp_path / "herd")):
        assert sorted(map(str, found.all_ids)) == sorted(ids)
        assert (len(found), len(found.held_back), len(found.waiting)) == (50, 6, 2)
        assert found.waiting.labels == [y[55], y[57]]
        assert found.bytes == 58 * 8 * 8 * 3
        shown = found.as_json()
        assert (shown["held_back"], shown["waiting"]) == (6, 2)
        places = {row["id"]: row["place"] for row in shown["rows"]}
        assert (places["0-8"], places["0-57"], places["0-0"]) == ("held back", "waiting", "memory")
    learner.forget(ids=["0-8", "0-57"])
    assert not {"0-8", "0-57"} & set(learner.memory.all_ids)


# --- what it forgets ---

MARK = torch.randint(0, 256, (3, 8, 8), generator=torch.Generator().manual_seed(9)).to(torch.uint8)
"""pixels that are easily found again"""


def marked(n: int, label: str = "bison") -> tuple[Tensor, list[str], list[str]]:
    """Images that differ from each other and hold the mark."""
    x = MARK.repeat(n, 1, 1, 1)
    x[:, 0, 0, 0] = torch.arange(n)
    return x, [label] * n, ["secret"] * n


def holds_the_mark(data: bytes) -> bool:
    """Whether a row of the mark's pixels occurs."""
    return any(
        MARK[channel, row].numpy().tobytes() in data for channel in range(3) for row in range(8)
    )


def tensors_of(learner: Learner) -> list[Tensor]:
    body = learner._training.stepper
    kept = [vars(body), learner._predicting.snapshot and learner._predicting.snapshot.me]
    return [leaf for part in kept for leaf in leaves(part)] + [
        one.image for one in learner._training.waiting
    ]


def leaves(value: Any) -> list[Tensor]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    try:
        return tree.leaves(value)
    except AssertionError:  # a list is no tree
        return []


def with_secrets(name: str, **options: Any) -> Learner:
    """A learner that has stored marked images between others, and has some of them waiting."""
    learner = new(name, **options)
    learner.observe(*told(6)[:2], ids=told(6)[2])
    learner.observe(*marked(9)[:2], ids=marked(9)[2])
    learner.observe(*told(33, seed=1)[:2], ids=told(33, seed=1)[2])
    learner.observe(*marked(6)[:2], ids=marked(6)[2])
    learner.predict(herd(2)[0])
    return learner


@pytest.mark.parametrize("name", REPLAYING)
@pytest.mark.parametrize("by", ["ids", "labels"])
def test_forgotten_images_leave_memory_queue_and_the_next_file(
    name: str, by: str, tmp_path: Path
) -> None:
    learner = with_secrets(name)
    learner.save(tmp_path / "before")
    assert holds_the_mark((tmp_path / "before").read_bytes())
    waiting, held = len(learner._training.waiting), len(learner.memory)
    gone = learner.forget(ids=["secret"]) if by == "ids" else learner.forget(labels=["bison"])
    assert gone == waiting + held - len(learner._training.waiting) - len(learner.memory) > 0
    assert "secret" not in learner.memory.ids
    assert "secret" not in learner._training.ids.values()
    assert not any(holds_the_mark(leaf.numpy().tobytes()) for leaf in tensors_of(learner))
    learner.save(tmp_path / "after")
    assert not holds_the_mark((tmp_path / "after").read_bytes())
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    again = Learner.load(tmp_path / "after")
    for one in (learner, again):
        one.observe(*herd(33, seed=5))
        one.flush()
    assert same(everything(learner), everything(again))


@pytest.mark.parametrize("options", [{}, {"calibration": 10}])
def test_forgotten_images_leave_pickles_too(options: dict[str, Any], tmp_path: Path) -> None:
    """Images that wait or are held back do not keep those they came with."""
    learner = new(**options)
    x, labels, _ = told(15)
    ids = ["other"] * 15 + ["secret"] * 9 + ["other"] * 15
    learner.observe(torch.cat([x, marked(9)[0], x]), labels + ["bison"] * 9 + labels, ids)
    assert holds_the_mark(pickle.dumps(learner))
    learner.save(tmp_path / "before")
    for one in (learner, Learner.load(tmp_path / "before")):
        assert one.forget(ids=["secret"])
        assert one._training.waiting
        assert not holds_the_mark(pickle.dumps(one))


@pytest.mark.parametrize("name", REPLAYING)
def test_an_image_that_no_row_took_is_forgotten_too(name: str) -> None:
    """The spare row holds the last image that was rejected."""
    learner = new(name)
    x, labels, _ = told(60)
    learner.observe(x, labels)
    state(learner).memory.x[-1] = MARK
    learner.predict(x[:2])
    before = everything(learner)
    assert learner.forget(ids=["secret"]) == 0
    assert not any(holds_the_mark(leaf.numpy().tobytes()) for leaf in tensors_of(learner))
    assert not holds_the_mark(pickle.dumps(learner))
    assert same(before, everything(learner))


@pytest.mark.parametrize("name", REPLAYING)
@pytest.mark.parametrize("by", [{"ids": ["secret"]}, {"labels": ["bison", "crane"]}])
def test_free_rows_are_never_drawn(name: str, by: dict[str, Any]) -> None:
    """What lies in the rows that became free changes no step."""
    learner = with_secrets(name)
    learner.forget(**by)
    other = copy.copy(learner)
    memory = state(other).memory
    filled = memory.filled
    assert filled < 20
    assert memory.used.sum() == filled
    memory.x[filled:] = 200
    memory.y[filled:] = state(other).classes - 1
    for name_of_field, value in memory.fields.items():
        if name_of_field != ARRIVED:
            value[filled:] = 1
    for one in (learner, other):
        for seed in range(2, 5):
            one.observe(*told(9, seed)[:2])
            one.flush()
    assert same(everything(learner), everything(other))
    x, _ = herd(5, seed=7)
    assert learner.predict(x) == other.predict(x)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_forgotten_class_is_as_if_never_seen(name: str) -> None:
    learner = with_secrets(name)
    number = learner._training.labels.number("bison")
    learner.forget(labels=["bison"])
    x, _ = herd(9, seed=7)
    assert "bison" not in learner.labels
    assert "bison" not in learner.predict(x)
    assert learner.predict_proba(x).shape == (9, 3)
    assert not state(learner).seen[number]
    assert learner._training.labels.all == [one for one in learner.labels if one != "bison"]
    me, shape = state(learner), (3, 8, 8)
    fresh = learner._training.origin.state(shape, me.classes, closed=False)
    wide = tree.named(learner._training.origin.form(shape, 2 * me.classes, closed=False))
    start, found = tree.named(fresh), tree.named(replace(me, average=None))
    checked = 0
    for path, leaf in found.items():
        for axis in range(leaf.ndim):
            if wide[path].shape[axis] != leaf.shape[axis]:
                checked += 1
                assert torch.equal(leaf.select(axis, number), start[path].select(axis, number)), (
                    path
                )
    assert checked
    learner.observe(*marked(10)[:2])
    learner.flush()
    assert learner.labels[-1] == "bison"
    assert learner._training.labels.number("bison") == number
    assert learner.predict_proba(x).shape == (9, 4)


def test_counts_forget_the_name_of_a_label_and_stay_measured(tmp_path: Path) -> None:
    learner = new(memory=30)
    x, y = herd(40, classes=2)
    learner.test_then_train(x, ["a person's name" if i else "ox" for i in y])
    before = learner.metrics
    right = before.counts.right["a person's name"]
    learner.forget(labels=["a person's name"])
    learner.save(tmp_path / "herd")
    assert b"a person's name" not in (tmp_path / "herd").read_bytes()
    for found in (learner.metrics, Learner.load(tmp_path / "herd").metrics):
        assert list(found.by_label) == ["ox"]
        assert found.counts.nameless == (sum(y), right)
        assert (found.accuracy, found.recent) == (before.accuracy, before.recent)
        assert found.counts.images == 40
    learner.test_then_train(x[:10], ["a person's name"] * 10)
    assert learner.metrics.counts.tested["a person's name"] == 10, "it begins anew"


def test_the_average_of_the_weights_forgets_a_class_too() -> None:
    learner = with_secrets("er", average=0.9)
    number = learner._training.labels.number("bison")
    learner.forget(labels=["bison"])
    me = state(learner)
    fresh = learner._training.origin.state((3, 8, 8), me.classes, closed=False)
    head, first = me.averaged().net.params["linear"], fresh.net.params["linear"]
    for part in ("weight", "bias"):
        assert torch.equal(head[part][number], first[part][number])
        assert not torch.equal(head[part], first[part])


def test_images_enter_no_more_easily_after_one_was_forgotten() -> None:
    """The reservoir goes on counting; otherwise recent images would replace all others."""
    learner = new("er", memory=50)
    learner.observe(*told(1000)[:2], ids=told(1000)[2])
    kept = learner.memory.ids
    assert learner.forget(ids=[kept[3]]) == 1
    learner.observe(*told(50, seed=1)[:2], ids=told(50, seed=1)[2])
    assert len(learner.memory) == 50
    recent = sum(str(one).startswith("1-") for one in learner.memory.ids)
    assert 1 <= recent <= 8
    assert int(state(learner).memory.offered) == 1050


def test_forgetting_everything_leaves_a_learner_that_can_begin_again() -> None:
    learner = with_secrets("bison")
    learner.forget(labels=ANIMALS)
    assert (learner.labels, len(learner.memory), learner._training.waiting) == ([], 0, [])
    with pytest.raises(UserError, match="all labels were forgotten: call observe first"):
        learner.predict(herd(1)[0])
    assert learner.test_then_train(*herd(20))[:10] == [None] * 10
    assert set(learner.predict(herd(5)[0])) <= {0, 1, 2, 3}


@pytest.mark.parametrize(
    "options", [{}, {"rule": "ld"}, {"rule": "ncm-raw-mirror"}, {"calibration": 5}]
)
def test_without_a_stored_image_nothing_is_predicted(
    options: dict[str, Any], tmp_path: Path
) -> None:
    learner, (x, y, _) = new("bison", **options), told(20)
    learner.observe(x, y, ids=["secret"] * 20)
    learner.flush()
    learner.predict(x)
    learner.forget(ids=["secret"])
    learner.save(tmp_path / "herd")
    asked: list[Any] = [
        learner.predict,
        learner.predict_proba,
        learner.predict_with_confidence,
        lambda x: learner.predict(x, reject_below=0.5),
        lambda x: learner.score(x, y),
        lambda x: learner.export(tmp_path / "model.pt2"),
        Learner.load(tmp_path / "herd").predict,
    ]
    for ask in asked:
        with pytest.raises(UserError, match="no image is stored to compare with: call observe"):
            ask(x)
    assert learner.test_then_train(x[:10], y[:10]) == [None] * 10
    learner.flush()
    assert np.isfinite(learner.predict_proba(x)).all()


def test_names_that_python_takes_for_equal_are_told_apart() -> None:
    learner = new("er", stream_batch=8)
    learner.test_then_train(
        images(torch.arange(12) % 2), [1, 0] * 6, ids=[1, True, (1,), (1.0,)] * 3
    )
    before = learner.metrics.counts
    assert learner.forget(labels=[True]) == learner.forget(labels=[1.0]) == 0
    assert (learner.labels, learner.metrics.counts) == ([1, 0], before)
    assert learner.forget(ids=[1]) == 3
    assert [type(one) for one in learner.memory.ids].count(bool) == 2
    assert learner.forget(ids=[(True,), (1.0,)]) == 3
    assert learner.forget(ids={True}) == 3
    assert {*learner.memory.ids, learner._training.waiting[0].id} == {(1,)}


def test_what_is_not_there_is_forgotten_without_a_change() -> None:
    learner = with_secrets("bison")
    before = everything(learner)
    assert learner.forget(ids=["nobody"]) == 0
    assert learner.forget(labels=["nothing"]) == 0
    assert same(before, everything(learner))
    assert new().forget(ids=[1]) == 0


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({}, "give one of them"),
        ({"ids": [1], "labels": [2]}, "give one of them"),
        ({"labels": "bison"}, "expected a list, such as"),
        ({"labels": [None]}, "None is no label"),
        ({"ids": [1, None]}, "expected ids of images, and None is no id"),
    ],
)
def test_unclear_requests_are_refused(named: dict[str, Any], message: str) -> None:
    """None stands for images without an id: they stay."""
    learner = new()
    learner.observe(*herd(20))
    before = everything(learner)
    with pytest.raises(UserError, match=message):
        learner.forget(**named)
    assert same(before, everything(learner))


def test_classes_are_limited_by_those_that_are_left(tmp_path: Path) -> None:
    learner = new("er", classes=2)
    learner.observe(images(torch.arange(10) % 2), ["a", "b"] * 5)
    learner.forget(labels=["a"])
    learner.observe(images(torch.arange(10) % 2), ["b", "c"] * 5)
    assert (learner.labels, learner._training.labels.numbers) == (["b", "c"], [1, 0])
    learner.save(tmp_path / "herd")
    again = Learner.load(tmp_path / "herd")
    assert (again.labels, again._training.labels.numbers) == (["b", "c"], [1, 0])
    x, _ = herd(9)
    assert np.array_equal(again.predict_proba(x), learner.predict_proba(x))
    with pytest.raises(UserError, match="class 3 of 2"):
        learner.observe(images(torch.arange(1)), ["a"])


@pytest.mark.parametrize(
    "forge",
    [
        lambda tensors, header: header.update(ids=[[1]]),
        lambda tensors, header: header.update(ids=[[-1, "a"]]),
        lambda tensors, header: header.update(waiting_ids=["a"]),
        lambda tensors, header: tensors["memory.fields.arrived"].fill_(10**9),
        lambda tensors, header: tensors["memory.uncounted"].fill_(-5),
    ],
)
def test_forged_ids_and_numbers_are_refused(forge: Any, tmp_path: Path) -> None:
    with_secrets("er").save(tmp_path / "herd")
    tensors, header = checkpoint.read(tmp_path / "herd")
    forge(tensors, header)
    checkpoint.write(tmp_path / "herd", tensors, header)
    with pytest.raises(UserError):
        Learner.load(tmp_path / "herd")


@pytest.mark.parametrize("missing", ["memory.x", "memory.y", "memory.seen", "step"])
def test_a_file_without_a_memory_shows_none(missing: str, tmp_path: Path) -> None:
    with_secrets("er").save(tmp_path / "herd")
    tensors, header = checkpoint.read(tmp_path / "herd")
    del tensors[missing]
    checkpoint.write(tmp_path / "herd", tensors, header)
    with pytest.raises(UserError, match="for 'memory'"):
        memory_in(tmp_path / "herd")


def test_refused_images_are_not_held_back_for_others_of_another_shape() -> None:
    learner = Learner("ocm", memory=20, filters=1, calibration=5)
    with pytest.raises(UserError, match="cannot be rotated: make them square"):
        learner.observe(np.zeros((19, 8, 12, 3), np.uint8), ["a"] * 19)
    assert learner._training.held_back.kept == ()
    learner.observe(*herd(60))
    assert {tuple(one.image.shape) for one in learner._training.held_back.kept} == {(3, 8, 8)}
    learner.predict(herd(3)[0])
