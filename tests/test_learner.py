"""The Learner: what it is fed, what it answers, where it lies, and that it equals a run."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import bison_ocl.learner.origin
import bison_ocl.learner.training
from bison_ocl import Learner, UserError, tree
from bison_ocl.batch import Batch, to_float
from bison_ocl.data.dataset import Dataset
from bison_ocl.engine.step import Engine
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.experiments.train.group import Group
from bison_ocl.experiments.train.run import Run
from bison_ocl.files import checkpoint
from bison_ocl.inference.rules import RULES
from bison_ocl.learner.calibration import by_rule
from bison_ocl.learner.growth import grown
from bison_ocl.memory.memory import ARRIVED
from bison_ocl.methods import METHODS, method_class
from bison_ocl.methods.er import ER
from bison_ocl.methods.method import Method
from bison_ocl.methods.settings import configured, settings_of
from bison_ocl.methods.start import first_state
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.state import State
from bison_ocl.stream.class_incremental import class_incremental
from tests.tiny import begin, images, same, snapshot, stream

ANIMALS = ["bison", "crane", "otter", "whale"]


class Kind(Enum):
    A = 1


class Word(StrEnum):
    A = "a"
    B = "b"


def backbone(seed: int = 0) -> nn.Module:
    """A few numbers with a normalisation, so that its statistics take part."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(3, 6, 3, stride=2, padding=1),
            nn.BatchNorm2d(6),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
        )


def new(method: str = "bison", **options: Any) -> Learner:
    return Learner(method, **({"memory": 20, "backbone": backbone()} | options))


def quick_settings(name: str) -> dict[str, int]:
    """A network of few numbers, and few rounds where a method goes over its memory many times."""
    rounds = {"epochs": 2} if hasattr(method_class(name), "epochs") else {}
    return {"filters": 2} | rounds


def state(learner: Learner) -> State:
    assert learner._training.me is not None
    return learner._training.me


def everything(learner: Learner) -> dict[str, Tensor]:
    """What a learner knows, in copies, the spare row of its memory aside."""
    return snapshot({"state": checkpoint.pack(state(learner))[0]})


def herd(n: int, classes: int = 4, seed: int = 0) -> tuple[Tensor, list[int]]:
    """n images of classes in random order."""
    y = torch.randint(0, classes, (n,), generator=torch.Generator().manual_seed(seed))
    return images(y, seed), y.tolist()


def trained(method: str = "bison", n: int = 40, **options: Any) -> Learner:
    learner = new(method, **options)
    x, y = herd(n)
    learner.observe(x, [ANIMALS[i] for i in y])
    return learner


# --- batches ---


@pytest.mark.parametrize("size", [1, 3, 47])
def test_batch_size_of_the_caller_does_not_matter(size: int) -> None:
    x, y = herd(47)
    learners = []
    for step in (10, size):
        learner = new()
        for i in range(0, len(x), step):
            learner.observe(x[i : i + step], y[i : i + step])
        learner.flush()
        learners.append(learner)
    assert same(*map(everything, learners))
    assert learners[0].labels == learners[1].labels == list(dict.fromkeys(y))
    assert state(learners[1]).step == 5
    assert state(learners[1]).memory.seen == 47


def test_images_wait_for_their_batch_and_are_flushed_on_request() -> None:
    learner = new()
    x, y = herd(13)
    learner.observe(x, y)
    assert state(learner).memory.seen == 10
    assert learner.labels == list(dict.fromkeys(y[:10]))
    learner.flush()
    assert state(learner).memory.seen == 13
    learner.flush()
    assert state(learner).step == 2


QUESTIONS: dict[str, Callable[[Learner, Path], object]] = {
    "predict": lambda learner, _: learner.predict(herd(3)[0]),
    "predict_proba": lambda learner, _: learner.predict_proba(herd(3)[0]),
    "score": lambda learner, _: learner.score(*herd(3)),
    "labels": lambda learner, _: learner.labels,
    "metrics": lambda learner, _: learner.metrics,
    "summary": lambda learner, _: (learner.summary(), repr(learner)),
    "save": lambda learner, folder: learner.save(folder / "herd"),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", ["bison", "er", "gdumb"])
def test_asking_never_trains(name: str, question: str, tmp_path: Path) -> None:
    learner = new(name, backbone=None, **quick_settings(name))
    learner.observe(*herd(17))
    before = everything(learner)
    QUESTIONS[question](learner, tmp_path)
    assert same(before, everything(learner))
    assert len(learner._training.waiting) == 7
    learner.new_task()
    assert (int(state(learner).step), learner._training.waiting) == (2, [])


def test_images_that_come_one_by_one_with_questions_between_are_learned_in_whole_batches() -> None:
    asked, quiet = new("er"), new("er")
    x, y = herd(60)
    quiet.observe(x, y)
    for image, label in zip(x, y, strict=True):
        asked.observe(image[None], [label])
        if state(asked).step:
            asked.predict(image[None])
    assert state(asked).step == 6
    assert same(everything(asked), everything(quiet))


def test_nothing_to_see_changes_nothing() -> None:
    learner = trained()
    before = everything(learner)
    learner.observe(np.zeros((0, 8, 8, 3), np.uint8), [])
    assert same(before, everything(learner))
    assert learner.predict(np.zeros((0, 8, 8, 3), np.uint8)) == []
    assert learner.predict_proba(np.zeros((0, 8, 8, 3), np.uint8)).shape == (0, 4)


def test_observed_images_may_be_overwritten_by_the_caller() -> None:
    x, y = herd(10)
    one, other = new(), new()
    one.observe(x[:5], y[:5])
    other.observe(reused := x[:5].clone(), y[:5])
    reused.zero_()
    for learner in (one, other):
        learner.observe(x[5:], y[5:])
    assert same(everything(one), everything(other))


# --- labels ---


def test_labels_of_any_hashable_type() -> None:
    labels = ["a", 7, (1, "b"), (), 2.5, Kind.A, frozenset({1}), True, np.int64(9), np.str_("c")]
    learner = new()
    with pytest.warns(UserWarning, match="of type Kind cannot be saved: use strings"):
        learner.observe(images(torch.arange(10)), labels)
    found = learner.labels
    assert found == ["a", 7, (1, "b"), (), 2.5, Kind.A, frozenset({1}), True, 9, "c"]
    assert type(found[7]) is bool
    assert (type(found[8]), type(found[9])) == (int, str)
    assert set(learner.predict(images(torch.arange(10), seed=1))) <= set(found)


@pytest.mark.parametrize(
    "make", [list, tuple, iter, np.array, torch.tensor, lambda y: [np.int32(i) for i in y]]
)
def test_labels_come_in_any_sequence(make: Callable[[list[int]], Any]) -> None:
    x, y = herd(20)
    plain, wrapped = new(), new()
    plain.observe(x, y)
    wrapped.observe(x, make(y))
    assert plain.labels == wrapped.labels
    assert all(type(label) is int for label in wrapped.labels)
    assert same(everything(plain), everything(wrapped))


def test_an_array_of_strings_is_known_by_plain_strings() -> None:
    learner = new()
    learner.observe(images(torch.arange(10)), np.array(list("abababcdab")))
    assert learner.labels == list("abcd")
    assert learner.predict(images(torch.arange(1)))[0] in list("abcd")


# --- heads that grow ---


@pytest.mark.parametrize("name", sorted(METHODS))
def test_grown_heads_step_as_heads_born_large(name: str) -> None:
    method = configured(name, None, {})
    engine = Engine(method)
    me = begin(method, classes=8, closed=False)
    blank = begin(method, classes=16, closed=False)
    for batch in (batch for task in stream(classes=8, tasks=2) for batch in task):
        large = tree.map_leaves(torch.clone, grown(me, blank))
        large, _ = engine.step(large, batch)
        me, _ = engine.step(me, batch)
        if me.average is not None:  # one vector, which has no corner
            average = grown(me, blank).average
            torch.testing.assert_close(large.average, average, rtol=1e-10, atol=1e-13)
        seen, fresh, start = (tree.named(replace(one, average=None)) for one in (me, large, blank))
        for path, value in seen.items():
            corner = fresh[path][tuple(slice(0, n) for n in value.shape)]
            torch.testing.assert_close(corner, value, rtol=1e-10, atol=1e-13, msg=path)
            if value.shape[:1] != fresh[path].shape[:1]:  # a row a class: unseen ones rest
                assert torch.equal(fresh[path][8:], start[path][8:]), path


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_learner_that_grew_equals_one_with_room(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    precise = partial(first_state, dtype=torch.float64)
    monkeypatch.setattr(bison_ocl.learner.origin, "first_state", precise)
    learners = []
    for rows in (2, 16):
        monkeypatch.setattr(bison_ocl.learner.training, "FIRST_CAPACITY", rows)
        learner = new(name, backbone=None, filters=1)
        for first in range(0, 12, 3):
            y = first + torch.arange(10) % 3
            learner.observe(images(y, seed=first), y.tolist())
        learners.append(learner)
    assert [state(learner).classes for learner in learners] == [16, 16]
    one, other = map(everything, learners)
    for path, value in one.items():
        torch.testing.assert_close(other[path], value, rtol=1e-6, atol=1e-8, msg=path)


def test_heads_double() -> None:
    learner, sizes = new(), []
    for first in range(0, 20, 5):
        y = first + torch.arange(10) % 5
        learner.observe(images(y % 8), y.tolist())
        sizes.append(state(learner).classes)
    assert sizes == [8, 16, 16, 32]
    assert state(learner).table.tolist() == [0] * 20 + [-1] * 12


def test_growing_moves_no_known_row() -> None:
    learner = trained()
    before = state(learner).net.params["stream"]["weight"]
    grown = learner._training.with_room_for(9).me.net.params["stream"]["weight"]
    assert grown.shape[0] == 16
    assert torch.equal(grown[:8], before)
    assert len(grown.unique(dim=0)) == 16


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_learner_of_given_classes_may_be_opened_to_more(name: str, tmp_path: Path) -> None:
    learner = new(name, classes=2, **quick_settings(name), backbone=None)
    y = torch.arange(20) % 2
    learner.observe(images(y), y.tolist())
    learner.save(tmp_path / "herd")
    learner = Learner.load(tmp_path / "herd")
    learner.allow_more_classes()
    before = state(learner).net.params["backbone"]
    y = 2 + torch.arange(20) % 3
    learner.observe(images(y), y.tolist())
    assert learner.labels == [0, 1, 2, 3, 4]
    assert state(learner).classes == 8
    assert state(learner).live.tolist() == [True] * 5 + [False] * 3
    assert not same(before, state(learner).net.params["backbone"]) or name == "gdumb"
    assert set(learner.predict(images(y))) <= set(range(5))
    learner.save(tmp_path / "herd")
    assert same(everything(learner), everything(Learner.load(tmp_path / "herd")))


def test_a_learner_may_be_opened_before_it_has_seen_anything() -> None:
    learner = new("bison", classes=2)
    learner.allow_more_classes()
    y = torch.arange(30) % 3
    learner.observe(images(y), y.tolist())
    assert learner.labels == [0, 1, 2]


# --- what images may be ---


@pytest.mark.parametrize(
    "form",
    [
        lambda x: x.numpy(),
        lambda x: x.permute(0, 2, 3, 1),
        lambda x: x.permute(0, 2, 3, 1).numpy(),
        lambda x: x.float() / 255,
        lambda x: x.double() / 255,
        lambda x: (x.float() / 255).numpy(),
        lambda x: (x.float() / 255).numpy().astype(">f4"),
        lambda x: x.permute(0, 2, 3, 1).numpy()[::-1][::-1],
        lambda x: x.tolist() and [image.numpy() for image in x],
    ],
)
def test_every_form_of_the_same_images_is_the_same(form: Callable[[Tensor], Any]) -> None:
    x, y = herd(30)
    plain, other = new(), new()
    plain.observe(x, y)
    other.observe(form(x), y)
    assert same(everything(plain), everything(other))
    assert plain.predict(x) == other.predict(form(x))


def test_grey_images_count_as_three_equal_channels() -> None:
    x, y = herd(20)
    grey = x[:, :1]
    learners = [new() for _ in range(3)]
    for learner, form in zip(
        learners, (grey.repeat(1, 3, 1, 1), grey, grey.permute(0, 2, 3, 1).numpy()), strict=True
    ):
        learner.observe(form, y)
    assert same(everything(learners[0]), everything(learners[1]))
    assert same(everything(learners[0]), everything(learners[2]))


# --- answers ---


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


# --- tasks ---


def feed(learner: Learner, *labels: int) -> None:
    """One step for each label."""
    for label in labels:
        y = torch.full((2,), label)
        learner.observe(images(y, seed=label), y.tolist())


def quick(**options: Any) -> Learner:
    return new("finetune", stream_batch=2, **options)


def test_ten_classes_that_arrive_together_are_one_task() -> None:
    learner = quick()
    feed(learner, *[c for c in range(10) for _ in range(20)])
    assert state(learner).task == 0
    assert state(learner).table.tolist() == [0] * 10 + [-1] * 6


@pytest.mark.parametrize(("quiet", "tasks"), [(49, 0), (50, 1)])
def test_fifty_steps_without_news_end_a_task(quiet: int, tasks: int) -> None:
    learner = quick()
    feed(learner, 0, *[0] * quiet, 1, 2)
    assert state(learner).task == tasks
    assert state(learner).table.tolist()[:3] == [0, tasks, tasks]
    assert state(learner).later is bool(tasks)


def test_the_gap_is_a_setting() -> None:
    gapped, never = quick(task_gap=2), quick(task_gap=None)
    for learner in (gapped, never):
        feed(learner, 0, 0, 1, 1, 1, 2, 3)
    assert state(gapped).table.tolist()[:4] == [0, 0, 1, 1]
    assert state(never).task == 0


def test_told_boundaries_replace_the_guessed_ones() -> None:
    learner = quick(task_gap=1)
    feed(learner, 0, 0, 1)
    assert state(learner).task == 1
    learner.new_task()
    feed(learner, 2, 2, 2, 3)
    assert state(learner).table.tolist()[:4] == [0, 1, 2, 2]


def test_a_boundary_resets_what_the_method_resets() -> None:
    learner = trained("bison")
    assert state(learner).net.scalar("a") != 0
    learner.new_task()
    assert state(learner).net.scalar("a") == 0
    assert state(learner).task == 1


def test_new_task_before_the_first_image_is_harmless() -> None:
    learner = new()
    learner.new_task()
    learner.observe(*herd(10))
    assert state(learner).task == 0


# --- the same as a run ---


def small_data() -> Dataset:
    train = torch.arange(6).repeat_interleave(17)
    test = torch.arange(6).repeat_interleave(4)
    names = tuple(f"class {i}" for i in range(6))
    return Dataset("tiny", Batch(images(train), train), Batch(images(test, 1), test), 6, 3, names)


def as_in_a_run(me: State) -> State:
    """The state without what only a learner's memory notes: numbers of arrival."""
    fields = {name: value for name, value in me.memory.fields.items() if name != ARRIVED}
    return replace(me, memory=replace(me.memory, fields=fields, uncounted=None))


class Nobody:
    def stepped(self, task: int, step: int) -> None: ...

    def tested(self, task: int, accuracy: float) -> None: ...

    def paused(self, runs: Sequence[Run]) -> None: ...


@pytest.mark.parametrize("name", sorted(METHODS))
def test_with_classes_given_a_learner_equals_run_bit_for_bit(name: str) -> None:
    method = configured(name, None, quick_settings(name))
    memory = 20 if method.replays else 0
    course = class_incremental(small_data(), 3)
    run = Run(Spec(name, "tiny", memory, 3, settings_of(method)), method, course)
    Group([run]).train(Nobody())
    learner = Learner(name, memory=20, seed=3, classes=6, **quick_settings(name))
    data = course.dataset
    for index in course.images:  # 34 images a task: the last batch is short
        for part in torch.split(index, 7):
            learner.observe(data.train.x[part], data.train.y[part])
        learner.new_task()
    assert same(snapshot(run.me), snapshot(as_in_a_run(state(learner))))
    assert learner.labels == list(course.order)
    named = [f"class {i}" for i in learner.predict(data.test.x)]
    assert run.learner().predict(data.test.x) == named


def test_the_model_of_a_run_learns_classes_it_never_had() -> None:
    method = configured("bison", None, quick_settings("bison"))
    course = class_incremental(small_data(), 3)
    run = Run(Spec("bison", "tiny", 20, 3, settings_of(method)), method, course)
    Group([run]).train(Nobody())
    learner, x = run.learner(), images(torch.full((10,), 7))
    with pytest.raises(UserError, match="call allow_more_classes"):
        learner.observe(x, ["bison"] * 10)
    learner.allow_more_classes()
    learner.observe(x, ["bison"] * 10)
    assert learner.labels == [*(f"class {i}" for i in course.order), "bison"]
    assert state(learner).classes == 12


# --- files ---


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("own", [True, False])
def test_a_saved_learner_goes_on_as_if_never_saved(name: str, own: bool, tmp_path: Path) -> None:
    module, settings = (backbone() if own else None), quick_settings(name)
    if own:
        del settings["filters"]
    learner = trained(name, n=27, backbone=module, seed=5, **settings)
    learner.save(tmp_path / "herd.safetensors")
    again = backbone(9) if own else None
    loaded = Learner.load(tmp_path / "herd.safetensors", backbone=again)
    assert same(everything(learner), everything(loaded))
    assert learner.labels == loaded.labels
    for one in (learner, loaded):
        one.observe(*herd(25, classes=8, seed=2))
        one.flush()
    assert same(everything(learner), everything(loaded))
    x, _ = herd(9, seed=3)
    assert learner.predict(x) == loaded.predict(x)
    assert np.array_equal(learner.predict_proba(x), loaded.predict_proba(x))


def test_saving_keeps_settings_boundaries_and_limits(tmp_path: Path) -> None:
    x, y = herd(40)
    learner = new("bison", beta=0.3, lambda_=2, task_gap=7, classes=5, backbone=None, filters=2)
    learner.observe(x, y)
    learner.save(tmp_path / "herd")
    loaded = Learner.load(tmp_path / "herd")
    assert loaded.method == learner.method
    assert loaded._training.task_gap == 7
    assert (
        loaded._training.steps - loaded._training.new_class_at
        == learner._training.steps - learner._training.new_class_at
        > 0
    )
    assert state(loaded).closed is True
    with pytest.raises(UserError, match="class 6 of 5"):
        loaded.observe(images(torch.arange(6)), list("abcdef"))


def test_boundaries_that_were_told_stay_told_after_loading(tmp_path: Path) -> None:
    learner = quick(task_gap=1)
    feed(learner, 0)
    learner.new_task()
    learner.save(tmp_path / "herd")
    loaded = Learner.load(tmp_path / "herd", backbone=backbone())
    feed(loaded, 1, 1, 1, 2)
    assert state(loaded).task == 1
    assert state(loaded).later is True


def test_labels_keep_their_types_in_a_file(tmp_path: Path) -> None:
    labels = ["a", 7, (1, ("b", None)), (), 2.5, True, False, "é\ud800", float("inf"), -3]
    learner = new()
    learner.observe(images(torch.arange(10)), labels)
    learner.save(tmp_path / "herd")
    found = Learner.load(tmp_path / "herd", backbone=backbone()).labels
    assert found == labels
    assert [type(label) for label in found] == [type(label) for label in labels]


def test_labels_of_an_enum_of_texts_are_the_same_after_loading(tmp_path: Path) -> None:
    labels = [Word.A, Word.B] * 5
    learner = new("er")
    learner.observe(images(torch.arange(10) % 2), labels, ids=labels)
    learner.save(tmp_path / "herd")
    again = Learner.load(tmp_path / "herd", backbone=backbone())
    again.observe(images(torch.arange(10) % 2), labels)
    for one in (learner, again):
        assert {type(value) for value in (*one.labels, *one.memory.ids)} <= {str, type(None)}
    assert again.forget(ids=[Word.A]) == learner.forget(ids=[Word.A]) == 5


def test_labels_that_json_cannot_hold_are_refused_when_saving(tmp_path: Path) -> None:
    learner = new()
    with pytest.warns(UserWarning, match="cannot be saved: use strings"):
        learner.observe(images(torch.arange(10)), [Kind.A] * 10)
    with pytest.raises(UserError, match=r"cannot be saved: use strings"):
        learner.save(tmp_path / "herd")
    assert not (tmp_path / "herd").exists()


class Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("dump", [pickle.dump, torch.save])
def test_loading_runs_no_code(dump: Callable[..., None], tmp_path: Path) -> None:
    with open(tmp_path / "trap", "wb") as file:
        dump({"net": Bomb(tmp_path / "boom")}, file)
    with pytest.raises(UserError, match="not a bison-ocl file"):
        Learner.load(tmp_path / "trap")
    assert not (tmp_path / "boom").exists()


def test_loading_never_unpickles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained().save(tmp_path / "herd")

    def forbidden(*_: Any, **__: Any) -> None:
        raise AssertionError("unpickled")

    for module, name in (
        (pickle, "load"),
        (pickle, "loads"),
        (pickle, "Unpickler"),
        (torch, "load"),
    ):
        monkeypatch.setattr(module, name, forbidden)
    assert Learner.load(tmp_path / "herd", backbone=backbone()).labels


def test_loading_needs_the_backbone_it_was_saved_with(tmp_path: Path) -> None:
    trained().save(tmp_path / "own")
    trained(backbone=None, filters=2).save(tmp_path / "standard")
    with pytest.raises(UserError, match=r"give load\(..., backbone=...\)"):
        Learner.load(tmp_path / "own")
    with pytest.raises(UserError, match="leave backbone out"):
        Learner.load(tmp_path / "standard", backbone=backbone())
    other = nn.Sequential(nn.Flatten(), nn.Linear(192, 24))
    with pytest.raises(UserError, match="does not fit"):
        Learner.load(tmp_path / "own", backbone=other)


# --- side by side ---


def in_threads(*work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_learners_in_threads_do_not_disturb_each_other() -> None:
    shared = backbone()
    before = snapshot(shared.state_dict())

    def work(seed: int) -> Learner:
        learner = new(backbone=shared, seed=seed)
        for i in range(8):
            learner.observe(*herd(10, seed=100 * seed + i))
            learner.predict(herd(3)[0])
        return learner

    found: dict[int, Learner] = {}

    def keep(seed: int) -> None:
        found[seed] = work(seed)

    in_threads(*(partial(keep, seed) for seed in (1, 2)))
    for seed in (1, 2):
        assert same(everything(work(seed)), everything(found[seed]))
    assert same(before, snapshot(shared.state_dict()))
    assert not same(everything(found[1]), everything(found[2]))


def test_one_learner_can_predict_from_another_thread() -> None:
    learner = trained()
    x, _ = herd(10)
    answers: list[Any] = []
    in_threads(lambda: answers.append(learner.predict(x)))
    assert answers == [learner.predict(x)]


def test_threads_take_turns_in_a_learner() -> None:
    learner = new("finetune", memory=0)

    def observe(name: str) -> None:
        for i in range(30):
            learner.observe(images(torch.arange(3)), [f"{name}{i}"] * 3)

    def predict() -> None:
        for _ in range(20):
            if learner.labels:
                assert np.isfinite(learner.predict_proba(images(torch.arange(2)))).all()

    in_threads(*(partial(observe, name) for name in "abc"), predict)
    learner.flush()
    assert set(learner.labels) == {f"{name}{i}" for name in "abc" for i in range(30)}
    assert state(learner).step >= 27
    assert not learner._training.waiting


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
@pytest.mark.parametrize("own", [True, False])
def test_a_copy_of_a_learner_goes_its_own_way(copied: Callable[[Any], Any], own: bool) -> None:
    learner = trained(**({"backbone": backbone()} if own else {"backbone": None, "filters": 2}))
    before, other = everything(learner), copied(learner)
    other.observe(*herd(20, seed=1))
    assert same(before, everything(learner))
    learner.observe(*herd(20, seed=1))
    assert same(everything(other), everything(learner))


# --- the caller's modes, and what went wrong ---


def test_a_caller_in_inference_mode_learns_and_predicts_as_any_other() -> None:
    one, other = new(), new()
    for mode, learner in ((True, one), (False, other)):
        with torch.inference_mode(mode):
            x, y = herd(13)
            learner.observe(x, y)
        learner.observe(*herd(14, classes=12, seed=1))
        with torch.inference_mode(mode):
            learner.predict(herd(4, seed=2)[0])
        learner.observe(*herd(20, classes=12, seed=3))
    assert same(everything(one), everything(other))


def test_probabilities_have_a_column_for_each_learned_label() -> None:
    learner = trained()
    learner.observe(images(torch.arange(2)), ["lynx", "mole"])
    before = learner.labels
    assert "lynx" not in before
    assert learner.predict_proba(images(torch.arange(1))).shape == (1, len(before))
    learner.flush()
    assert learner.labels == [*before, "lynx", "mole"]
    assert learner.predict_proba(images(torch.arange(1))).shape == (1, len(before) + 2)


def test_a_loss_that_is_not_finite_is_said_once(tmp_path: Path) -> None:
    """At the next pause, for reading it would make every step wait for a GPU."""
    x, y = herd(60)
    for pause in ("predict", "save", "new_task"):
        learner = new("er", lr=1e30)
        learner.observe(x, y)
        arguments = {"predict": (x,), "save": (tmp_path / "lost",)}.get(pause, ())
        with pytest.warns(UserWarning, match="steps were refused.*not finite.*lower lr") as said:
            getattr(learner, pause)(*arguments)
        assert [one.filename for one in said] == [__file__]
        learner.predict(x)  # a second warning would be an error


class Faulty(nn.Module):
    """A backbone that fails in one of its passes of training."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = backbone()

    def forward(self, x: Tensor) -> Tensor:
        if self.training and LEFT:
            LEFT[0] -= 1
            if LEFT[0] < 0:
                LEFT.clear()
                raise RuntimeError("out of memory")
        found: Tensor = self.inner(x)
        return found


LEFT: list[int] = []
"""passes of a Faulty backbone until it fails once; empty: it never does"""


def on_disk(learner: Learner, path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What a file of a learner says."""
    copy.deepcopy(learner).save(path)
    return checkpoint.read(path)


@pytest.mark.parametrize(
    ("call", "passes"),
    [*(("observe", n) for n in range(4)), ("flush", 1), ("new_task", 1)],
)
@pytest.mark.parametrize("name", ["bison", "er", "mir"])
def test_a_call_that_fails_leaves_the_learner_as_it_was(
    name: str, call: str, passes: int, tmp_path: Path
) -> None:
    """On the first image of a new class, with which a task begins; the retry is as good."""
    disturbed, other = (new(name, backbone=Faulty(), task_gap=3) for _ in range(2))
    x, y = images(torch.full((24,), 9), seed=9), [*"aaaabbbbccccdddd", *"efghijkl"]
    for learner in (disturbed, other):
        for _ in range(4):
            learner.observe(*herd(10))
        learner.observe(x[:6], y[:6])
    calls: dict[str, tuple[Any, ...]] = {"observe": (x[6:], y[6:])}
    before, labels = on_disk(disturbed, tmp_path / "before"), disturbed.labels
    rows = snapshot(state(disturbed).memory)
    LEFT.append(passes)
    try:
        with pytest.raises(RuntimeError, match="out of memory"):
            getattr(disturbed, call)(*calls.get(call, ()))
    finally:
        LEFT.clear()
    assert disturbed.labels == labels
    assert len(disturbed._training.waiting) == 6
    assert same(rows, snapshot(state(disturbed).memory))
    after = on_disk(disturbed, tmp_path / "after")
    assert before[1] == after[1]
    assert same(before[0], after[0])
    for learner in (disturbed, other):
        getattr(learner, call)(*calls.get(call, ()))
        learner.flush()
        assert state(learner).task == 1 + (call == "new_task")
    found, wanted = (on_disk(one, tmp_path / "end") for one in (disturbed, other))
    assert found[1] == wanted[1]
    assert same(found[0], wanted[0])


def test_images_that_no_step_can_take_do_not_decide_about_later_ones() -> None:
    learner = new("ocm", backbone=None, filters=1)
    learner.observe(np.zeros((5, 8, 12, 3), np.uint8), range(5))
    with pytest.raises(UserError, match="8x12 cannot be rotated: make them square"):
        learner.observe(np.zeros((5, 8, 12, 3), np.uint8), range(5))
    learner.observe(images(torch.arange(10)), ["a", "b"] * 5)
    assert learner.labels == ["a", "b"]
    with pytest.raises(UserError, match="9x9, earlier ones 8x8"):
        learner.observe(np.zeros((1, 9, 9, 3), np.uint8), ["a"])


def test_a_first_call_that_fails_does_not_decide_about_later_ones() -> None:
    learner = Learner("bison", memory=10**6, filters=4)
    with pytest.warns(UserWarning, match="image_size="), pytest.raises(UserError, match="no room"):
        learner.observe(np.zeros((1, 2000, 2000, 3), np.uint8), [1])
    learner.observe(np.zeros((10, 4, 4, 3), np.uint8), [1] * 10)
    assert learner.labels == [1]


# --- how it computes ---


@pytest.mark.parametrize("precision", ["tf32", "bf16", "fp32"])
def test_a_file_keeps_the_precision_of_a_learner(precision: Any, tmp_path: Path) -> None:
    learner = trained(backbone=None, filters=2, precision=precision)
    learner.save(tmp_path / "herd")
    again = Learner.load(tmp_path / "herd")
    for one in (learner, again):
        network = state(one).net.design.backbone
        assert isinstance(network, ResNet18)
        assert (network.precision, network.fused) == (precision, False)
        one.observe(*herd(20, seed=1))
    assert same(everything(learner), everything(again))


def test_precisions_compute_in_other_numbers() -> None:
    one, other = (trained(backbone=None, filters=2, precision=name) for name in ("tf32", "bf16"))
    assert not same(everything(one), everything(other))


@pytest.mark.parametrize("said", ["fp16", 3, None, ["tf32"]])
def test_a_file_with_another_precision_is_refused(said: Any, tmp_path: Path) -> None:
    tensors, header = on_disk(trained(), tmp_path / "herd")
    checkpoint.write(tmp_path / "herd", tensors, header | {"precision": said})
    with pytest.raises(UserError, match="for 'precision'"):
        Learner.load(tmp_path / "herd", backbone=backbone())


def test_the_model_of_a_run_computes_in_the_precision_of_the_run(tmp_path: Path) -> None:
    stream = class_incremental(small_data(), 0)
    method = method_class("er")(filters=2)
    spec = Spec("er", "small", 20, 0, settings_of(method), precision="bf16")
    run = Run(spec, method, stream)
    run.learner().save(tmp_path / "model")
    for model in (run.learner(), Learner.load(tmp_path / "model")):
        network = state(model).net.design.backbone
        assert isinstance(network, ResNet18)
        assert network.precision == "bf16"


def test_on_a_cpu_compiling_changes_nothing() -> None:
    one, other = (trained(backbone=None, filters=2, compile=how) for how in (False, True))
    assert same(everything(one), everything(other))


# --- rules of inference ---


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_reads_the_network_and_the_memory(rule: str, tmp_path: Path) -> None:
    learner, plain = trained("er", rule=rule, refresh=1), trained("er")
    assert same(everything(learner), everything(plain))
    x, me = images(torch.arange(8)), state(learner)
    summary = RULES[rule].summarise(me.net, me.memory, me.classes)
    scores = RULES[rule].scores(me.net, summary, to_float(x))[:, : len(learner.labels)]
    shares = (scores / by_rule(learner.method, RULES[rule])).softmax(1)
    assert torch.equal(torch.from_numpy(learner.predict_proba(x)), shares)
    learner.save(tmp_path / "herd")
    again = Learner.load(tmp_path / "herd", backbone=backbone())
    assert (again.predict_proba(x) == learner.predict_proba(x)).all()
    more, y = herd(20, seed=1)
    learner.observe(more, [ANIMALS[i] for i in y])
    assert not (again.predict_proba(x) == learner.predict_proba(x)).all()


def test_rules_also_read_the_network_that_gdumb_trains_when_asked() -> None:
    learner = trained("gdumb", rule="ld", epochs=1)
    assert set(learner.predict(images(torch.arange(4)))) <= set(ANIMALS)


@pytest.mark.parametrize("said", ["lda", 3, ["ld"]])
def test_a_file_with_another_rule_is_refused(said: Any, tmp_path: Path) -> None:
    tensors, header = on_disk(trained(), tmp_path / "herd")
    checkpoint.write(tmp_path / "herd", tensors, header | {"rule": said})
    with pytest.raises(UserError, match="for 'rule'"):
        Learner.load(tmp_path / "herd", backbone=backbone())


# --- bad input ---

OK = images(torch.arange(2))
BAD = {
    "nan": (torch.full((2, 3, 8, 8), torch.nan), [0, 1], "NaN or infinite"),
    "inf": (torch.full((2, 3, 8, 8), torch.inf), [0, 1], "NaN or infinite"),
    "above 1": (torch.full((2, 3, 8, 8), 1.5), [0, 1], r"lie in \[0, 1\].*scale them"),
    "below 0": (torch.full((2, 3, 8, 8), -0.1), [0, 1], r"lie in \[0, 1\]"),
    "integers": (OK.long(), [0, 1], "uint8 or float.*convert them"),
    "booleans": (OK > 100, [0, 1], "uint8 or float"),
    "text": (np.full((2, 8, 8, 3), "x"), [0, 1], "numeric array"),
    "ragged": ([[1, 2], [3]], [0, 1], "numeric array"),
    "none": (None, [0, 1], "numeric array"),
    "a column of paths": (np.array(["a.png", "b.png"]), [0, 1], "or a list of .* not ndarray"),
    "too few labels": (OK, [0], "2 images but 1 label: give"),
    "too many labels": (OK, [0, 1, 2], "2 images but 3 labels"),
    "two axes": (OK[0, 0, :4], [0], "reshape rows to"),
    "two layouts": (torch.zeros(2, 3, 32, 3), [0, 1], "may be .*: resize them"),
    "equal labels": (OK, [1, True], "labels 1 and True are equal in Python: use one type"),
    "equal tuples": (OK, [(1, "a"), (1.0, "a")], "are equal in Python"),
    "five axes": (OK[None], [0], "add or drop an axis"),
    "five channels": (torch.zeros(2, 5, 8, 8), [0, 1], "1, 3 or 4 channels"),
    "no pixels": (np.zeros((2, 0, 8, 3), np.uint8), [0, 1], "must have pixels"),
    "another size": (torch.zeros(2, 3, 9, 8), ["a", "b"], "9x8, earlier ones 8x8: resize"),
    "a list as label": (OK, [[1], [2]], "not one hashable value"),
    "a list in a tuple": (OK, [(1, [2]), 0], "not one hashable value"),
    "an array as label": (OK, [np.zeros(2), np.zeros(2)], "not one hashable value"),
    "a tensor as label": (OK, [torch.zeros(2), 1], "not one hashable value"),
    "rows of labels": (OK, np.zeros((2, 2)), "not one hashable value"),
    "a label that is no number": (OK, [0.0, float("nan")], "a label is NaN"),
    "no label": (OK, [0, None], "a label is None, which predict returns for rejections: leave"),
    "a set of labels": (OK, {"a", "b"}, "labels must be a sequence"),
    "a dict of labels": (OK, {"a": 0, "b": 1}, "labels must be a sequence"),
    "one text as labels": (OK, "ab", "labels must be a sequence"),
    "no labels": (OK, None, "labels must be a sequence"),
    "a number as labels": (OK, 3, "labels must be a sequence"),
    "too many classes": (
        OK,
        ["new", "newer"],
        r"class 5 of 4 \(after 'a', 'b', 'c', 'new'\): call allow_more_classes",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_and_nothing_is_learned_from_it(case: str) -> None:
    x, y, message = BAD[case]
    learner = new("finetune", classes=4)
    learner.observe(images(torch.arange(12)), ["a", "b", "c", "a", "b", "c"] * 2)
    before = everything(learner)
    with pytest.raises(UserError, match=message) as caught:
        learner.observe(x, y)
    assert "\n" not in str(caught.value)
    assert same(before, everything(learner))
    assert len(learner._training.waiting) == 2
    assert learner.labels == ["a", "b", "c"]


@pytest.mark.parametrize("case", ["nan", "above 1", "integers", "five channels", "another size"])
def test_bad_images_are_refused_when_predicting(case: str) -> None:
    x, _, message = BAD[case]
    with pytest.raises(UserError, match=message):
        trained("finetune").predict(x)


def test_a_single_image_may_come_with_its_label_alone() -> None:
    one, other = new("er", stream_batch=1), new("er", stream_batch=1)
    for image, label in zip(OK, ["a", ("b", 2)], strict=True):
        one.observe(image, label)
        other.observe(image[None], [label])
    assert same(everything(one), everything(other))
    assert one.predict(OK[0]) == other.predict(OK[:1])
    assert one.labels == ["a", ("b", 2)]
    one.observe(OK[0], np.array(["a"]))
    assert state(one).step == 3


def test_labels_that_only_look_alike_are_different() -> None:
    learner = new("er", stream_batch=2)
    learner.observe(OK, [1, "1"])
    assert learner.labels == [1, "1"]
    with pytest.raises(UserError, match=r"labels 1 and 1\.0 are equal in Python"):
        learner.observe(OK, [1.0, "1"])


def test_filters_beside_a_backbone_are_refused() -> None:
    with pytest.raises(UserError, match="filters=4 has no effect with backbone: leave it out"):
        new("er", filters=4)
    new("er", backbone=None, filters=4)


def test_the_device_may_be_found() -> None:
    found = "cuda" if torch.cuda.is_available() else "cpu"
    assert new("er", device="auto")._training.execution.device == found


def test_classes_that_wait_count_towards_the_limit() -> None:
    learner = new("finetune", classes=2)
    learner.observe(OK, ["a", "b"])
    with pytest.raises(UserError, match="class 3 of 2"):
        learner.observe(OK, ["a", "c"])
    learner.observe(OK, ["b", "a"])
    learner.flush()
    assert state(learner).step == 1


def test_asking_before_learning_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing has been learned yet: call observe first"):
        new().predict(OK)
    with pytest.raises(UserError, match="nothing has been learned yet: call observe first"):
        new().predict_proba(OK)
    with pytest.raises(UserError, match="call observe before save"):
        new().save(tmp_path / "herd")


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("bisson", {}, "unknown method 'bisson': did you mean 'bison'"),
        ("xyz", {}, "choose from bison"),
        ("bison", {"betta": 1}, "unknown setting 'betta' of bison: did you mean 'beta'"),
        ("bison", {"memry": 3}, "unknown setting 'memry' of bison: did you mean 'memory'"),
        ("bison", {"zzz": 3}, "choose from .*lr, .*memory, .*image_size"),
        ("er", {"lr": float("nan")}, "lr=nan: expected a finite number"),
        ("er", {"lr": "much"}, "expected a finite number"),
        ("er", {"stream_batch": 0}, "whole number from 1"),
        ("er", {"memory": 5}, "memory 5 is smaller than the replay batch 10"),
        ("bison", {"dc": False}, "add paf=off"),
        ("er", {"device": "gpu"}, "device='gpu': expected cpu, cuda or auto"),
        ("er", {"device": "meta"}, "device='meta': expected cpu, cuda or auto"),
        ("er", {"rule": "lda"}, "unknown rule 'lda': did you mean 'ld'"),
        ("finetune", {"rule": "ld"}, "rule='ld' needs a memory, but this method has none"),
        ("er", {"precision": "fp16"}, "precision fp16: choose tf32, bf16 or fp32"),
        ("er", {"lr": 10**400}, "lr"),
        ("er", {"stream_batch": 10**20}, "whole number from 1 to 2,147,483,647"),
        ("er", {"memory": 1.5}, "memory=1.5: expected a whole number of at least 0"),
        ("er", {"seed": True}, "seed=True: expected a whole number"),
        ("er", {"classes": 0}, "classes=0: expected a whole number of at least 1"),
        (
            "er",
            {"classes": 2**31},
            "classes=2147483648: expected a whole number of at most 1,000,000",
        ),
        ("er", {"image_size": 5000}, "image_size=5000: expected a whole number of at most 4,096"),
        ("er", {"backbone": "resnet18"}, "backbone='resnet18': expected a torch.nn.Module"),
        (None, {}, "method=None: expected a name, such as 'bison'"),
        ("er", {"compile": "false"}, "compile='false': expected True or False"),
    ],
)
def test_bad_options_are_refused(method: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Learner(method, **options)


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    two = np.arange(3)[2]
    learner = Learner("er", memory=np.int64(20), seed=two, classes=two, task_gap=np.int32(7))
    learner.observe(OK, [0, 1])
    learner.flush()
    learner.save(tmp_path / "herd")
    assert Learner.load(tmp_path / "herd").labels == [0, 1]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu_here() -> None:
    with pytest.raises(UserError, match="device='cuda': torch finds no GPU here; use cpu"):
        Learner("er", device="cuda")


def test_a_memory_that_no_machine_has_room_for() -> None:
    with pytest.raises(UserError, match="no room for a memory of 100000000000000 images"):
        Learner("er", memory=10**14).observe(OK, ["a", "b"])


@pytest.mark.parametrize("method", METHODS)
def test_one_small_image_at_a_time(method: str) -> None:
    learner = Learner(method, memory=15, stream_batch=1, filters=1)
    for image, label in zip(images(torch.arange(4)), "abab", strict=True):
        learner.observe(image[None], [label])
    assert learner.predict(OK)[0] in ("a", "b")


def test_the_error_is_the_librarys_own() -> None:
    assert issubclass(UserError, ValueError)
    assert bison_ocl.UserError is UserError
    with pytest.raises(AttributeError):
        bison_ocl.Nothing  # noqa: B018


@pytest.mark.parametrize(
    "wrong",
    [
        {"memory": "20"},
        {"memory": 20.5},
        {"memory": -3},
        {"seed": 1.5},
        {"seed": -1},
        {"seed": 2**70},
        {"classes": 0},
        {"classes": 2.5},
        {"task_gap": 0},
        {"task_gap": True},
    ],
)
def test_arguments_that_are_no_numbers_in_range_are_named(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(UserError, match=f"^{name}="):
        Learner("finetune", **wrong)


@dataclass(frozen=True, kw_only=True)
class Mine(ER):
    title = "Mine"
    weight: float = 2.0


def test_a_class_and_an_object_of_it_are_methods_too(tmp_path: Path) -> None:
    x, y = images(torch.arange(10) % 4), (torch.arange(10) % 4).tolist()
    found = [Learner(Mine, memory=20, weight=3), Learner(Mine(weight=3), memory=20)]
    for learner in found:
        learner.observe(x, y)
    assert [learner.method for learner in found] == [Mine(weight=3)] * 2
    found[0].save(tmp_path / "mine")
    with pytest.raises(UserError, match=r"'mine' from outside .* load\(..., method=Mine"):
        Learner.load(tmp_path / "mine")
    with pytest.raises(UserError, match="is of the method 'mine', not of 'bison'"):
        Learner.load(tmp_path / "mine", method=method_class("bison"))
    again = Learner.load(tmp_path / "mine", method=Mine)
    assert again.method == Mine(weight=3)
    assert again.predict(x) == found[1].predict(x)


def test_classes_of_the_package_are_methods_too() -> None:
    found = Learner(method_class("bison"), beta=0.3)
    assert found.method == configured("bison", None, {"beta": 0.3})


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        (Mine(), {"weight": 3}, r"weight: give settings to Mine\(...\) itself"),
        (Mine, {"wieght": 3}, "unknown setting 'wieght' of mine: did you mean 'weight'?"),
        (Method, {}, "Method has no title"),
        (int, {}, "is not a method"),
        (3, {}, "method=3: expected a name"),
    ],
)
def test_what_is_no_method_is_refused(method: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Learner(method, **settings)


def test_no_images_in_a_list_are_no_images() -> None:
    learner = trained()
    before = everything(learner)
    learner.observe([], [])
    assert learner.predict([]) == []
    assert same(before, everything(learner))
    with pytest.raises(UserError, match=r"^no images: accuracy needs at least one"):
        learner.score([], [])


@pytest.mark.parametrize("bound", ["high", float("nan"), True, [0.5], 60, 1.01, -0.1, float("inf")])
def test_a_bound_that_is_no_probability_is_refused(bound: Any) -> None:
    with pytest.raises(UserError, match=r"^reject_below=.*: expected a probability from 0 to 1"):
        trained().predict(images(torch.arange(2)), reject_below=bound)


@pytest.mark.parametrize("by", ["ids", "labels"])
@pytest.mark.parametrize("names", ["ox", b"ox", 7])
def test_what_to_forget_is_a_list(by: str, names: Any) -> None:
    with pytest.raises(UserError, match=r"^forget .*: expected a list, such as \["):
        trained().forget(**{by: names})


def test_labels_to_forget_come_in_any_collection() -> None:
    learner = new()
    learner.observe(*herd(40))
    assert learner.forget(labels={0}) > 0
    assert learner.forget(labels=torch.tensor([1])) > 0
    assert set(learner.labels) == {2, 3}
