"""Bad input is refused in one line, and nothing is learned from it."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bison_ocl
from bison_ocl import Learner, UserError
from bison_ocl.methods import METHODS, method_class
from bison_ocl.methods.bison import Bison
from bison_ocl.methods.er import ER
from bison_ocl.methods.gdumb.gdumb import GDumb
from bison_ocl.methods.method import Method
from bison_ocl.methods.settings import configured
from tests.learners import everything, herd, new, state, trained
from tests.tiny import images, same

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
    "a column of paths": (np.array(["a.png", "b.png"]), [0, 1], "not ndarray: give list"),
    "a generator": ((one for one in OK), [0, 1], r"not generator: give list\(images\)"),
    "a file": (BytesIO(), [0, 1], r"not BytesIO: give images.read\(\)"),
    "a list of files": ([BytesIO()], [0], "not list of BytesIO$"),
    "base64": ("iVBORw0KGgo" * 500, [0], "^cannot read .{200}: File name too long; check"),
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
    "rows of labels": (OK, np.zeros((2, 2)), r"labels are of shape \[2, 2\]: .*argmax"),
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


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (ER(average=1.5), "average=1.5: expected a number from 0 to below 1"),
        (ER(average=float("nan")), "average=nan: expected a finite number"),
        (Mine(weight=float("inf")), "weight=inf: expected a finite number"),
        (GDumb(average=0.9), "average has no effect on gdumb: leave it out"),
        (Bison(lambda_=float("inf")), "lambda=inf: expected a finite number"),
    ],
)
def test_settings_of_an_object_are_checked_as_those_by_name(method: Method, message: str) -> None:
    """An average with decay NaN would make every prediction NaN."""
    with pytest.raises(UserError, match=f"^{message}"):
        Learner(method)


@dataclass(frozen=True, kw_only=True)
class Layered(ER):
    title = "Layered"
    widths: tuple[int, ...] = (3,)


def test_fields_that_no_name_can_set_are_the_objects_own_business() -> None:
    assert Learner(Layered(widths=(5, 7))).method == Layered(widths=(5, 7))


def test_no_images_in_a_list_are_no_images() -> None:
    learner = trained()
    before = everything(learner)
    learner.observe([], [])
    assert learner.predict([]) == []
    assert same(before, everything(learner))
    with pytest.raises(UserError, match=r"^no images: accuracy needs at least one"):
        learner.score([], [])


@pytest.mark.parametrize(
    ("learned", "given", "refused"),
    [
        ([0, 1], [False, True], "labels 0 and False are equal in Python"),
        ([0, 1], ["0", "1"], "label '0' is unknown, but 0 is learned: give labels of the type"),
        (["0", "1"], ["ox", 1], "label 1 is unknown, but '1' is learned: give labels of the type"),
    ],
)
def test_accuracy_on_labels_of_another_type_than_the_learned_ones_is_refused(
    learned: list[Any], given: list[Any], refused: str
) -> None:
    learner = new()
    x, _ = herd(10)
    learner.observe(x, learned * 5)
    with pytest.raises(UserError, match=f"^{refused}"):
        learner.score(x, given * 5)


def test_accuracy_counts_labels_that_are_not_learned_as_wrong() -> None:
    learner = new()
    x, _ = herd(10)
    learner.observe(x, [0, "0"] * 5)
    assert learner.score(x, ["ox"] * 10) == 0
    assert learner.score(x, learner.predict(x)) == 1


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
