"""Labels of any hashable type are learned, and keep their types in a file."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bison_ocl import Learner, UserError
from tests.learners import backbone, everything, herd, new
from tests.tiny import images, same


class Kind(Enum):
    A = 1


class Word(StrEnum):
    A = "a"
    B = "b"


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
    with pytest.warns(UserWarning, match="cannot be saved: use strings") as said:
        learner.observe(images(torch.arange(10)), [Kind.A] * 10)
    assert [one.filename for one in said] == [__file__]
    with pytest.raises(UserError, match=r"cannot be saved: use strings"):
        learner.save(tmp_path / "herd")
    assert not (tmp_path / "herd").exists()
