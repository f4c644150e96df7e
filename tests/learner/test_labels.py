"""Labels: numbered as they appear, plain values, and back from JSON as they were."""

from __future__ import annotations

import enum
import json
from typing import Any

import numpy as np
import pytest
import torch

from bison_ocl.errors import UserError
from bison_ocl.learner.labels.given import plain_labels, plain_names
from bison_ocl.learner.labels.names import decode, display_names, encode
from bison_ocl.learner.labels.numbers import Labels


def test_numbers_follow_the_order_of_appearance() -> None:
    labels = Labels()
    assert labels.add(["b", "a", "b"]) is True
    assert labels.add(["a"]) is False
    assert labels.add(["a", "c"]) is True
    assert labels.all == ["b", "a", "c"]
    assert [labels.number(name) for name in "abc"] == [1, 0, 2]
    assert len(labels) == 3


def test_labels_are_added_to_a_longer_list() -> None:
    few = Labels(limit=2)
    few.add("ab")
    more = few.without_limit().added("bcc")
    assert (few.all, more.all) == (["a", "b"], ["a", "b", "c"])
    assert more.number("c") == 2
    assert more.added("abc") is more
    with pytest.raises(UserError, match="class 3 of 2"):
        few.check_room("c")
    more.check_room(range(9))


def test_a_label_that_left_leaves_its_number_to_the_next() -> None:
    labels = Labels(limit=3)
    labels.add("abc")
    fewer = labels.without(plain_names(["b"], "label"))
    assert (fewer.all, fewer.numbers, fewer.rows) == (["a", "c"], [0, 2], 3)
    assert (labels.all, labels.numbers) == (["a", "b", "c"], [0, 1, 2])
    again = fewer.added("db")
    assert (again.all, again.numbers) == (["a", "c", "d", "b"], [0, 2, 1, 3])
    assert Labels().rows == 0


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        (["ox", 1], ["ox", "1"]),
        (["ox", True, "True"], ["ox", "True", "'True'"]),
        ([1, "1", "'1'"], ["1", "'1'", "\"'1'\""]),
    ],
)
def test_display_names_tell_labels_apart(labels: list[Any], shown: list[str]) -> None:
    assert display_names(labels) == shown


def test_the_two_zeros_are_one_label() -> None:
    labels = Labels(limit=1)
    labels.check_room([0.0, -0.0])
    with pytest.raises(UserError, match=r"labels 0\.0 and 0 are equal in Python"):
        labels.check_room([0.0, 0])


def test_limit_counts_distinct_labels_and_takes_none_in() -> None:
    labels = Labels(limit=2)
    labels.add("a")
    labels.check_room(["a", "b", "a", "b"])
    with pytest.raises(UserError, match=r"label 'c' would be class 3 of 2 \(after 'a', 'b'\)"):
        labels.check_room(["b", "c"])
    assert labels.all == ["a"]
    Labels().check_room(range(1000))


class Animal(enum.StrEnum):
    BISON = "bison"


class Old(str, enum.Enum):  # noqa: UP042 - as users have it
    BISON = "bison"


class Place(enum.IntEnum):
    FIRST = 1


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ([Animal.BISON, Old.BISON, Place.FIRST], ["bison", "bison", 1]),
        (np.array([1, 2]), [1, 2]),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.array([True, False]), [True, False]),
        (torch.tensor([3, 4]), [3, 4]),
        ([torch.tensor(3), np.int8(4), np.float64(0.5), np.bool_(True)], [3, 4, 0.5, True]),
        ((x for x in "ab"), ["a", "b"]),
        ([("a", 1), None], [("a", 1), None]),
        ([("a", np.int64(1), (torch.tensor(2),))], [("a", 1, (2,))]),
    ],
)
def test_plain_values(given: Any, found: list[Any]) -> None:
    values = plain_labels(given)
    assert values == found
    assert [type(value) for value in values] == [type(value) for value in found]


class Missing:
    """A value of which nobody knows what it equals, as `pandas.NA`."""

    def __eq__(self, other: object) -> Any:
        return self

    __ne__ = __eq__

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


@pytest.mark.parametrize("label", [[1], {}, {1}, (1, [2]), np.zeros(2), torch.zeros(3), Missing()])
def test_what_cannot_be_looked_up_is_refused(label: Any) -> None:
    with pytest.raises(UserError, match="not one hashable value: use a string") as caught:
        plain_labels(["fine", label])
    assert "\n" not in str(caught.value)


def test_a_number_too_long_to_print_is_refused() -> None:
    with pytest.raises(UserError, match="a label is a number of 14,949 bits: use a string"):
        plain_labels([10**4500])


@pytest.mark.parametrize("labels", ["ab", None, 3, np.array(3)])
def test_labels_must_be_a_sequence(labels: Any) -> None:
    with pytest.raises(UserError, match="one label per image"):
        plain_labels(labels)


@pytest.mark.parametrize(
    "label", ["", "é", 0, -1, 2**80, 0.1, float("inf"), True, None, (), ((1,), "x", None)]
)
def test_json_and_back(label: Any) -> None:
    back = decode(json.loads(json.dumps(encode(label))))
    assert back == label
    assert type(back) is type(label)


@pytest.mark.parametrize("label", [b"x", frozenset(), 1j, (1, b"x"), object()])
def test_other_types_cannot_be_saved(label: Any) -> None:
    with pytest.raises(UserError, match="cannot be saved: use strings"):
        encode(label)


def test_all_of_them_and_back() -> None:
    labels = Labels()
    labels.add(["a", (1, 2), None])
    again = Labels.decoded(json.loads(json.dumps(labels.encoded())), labels.numbers, limit=3)
    assert again.all == labels.all
    assert again.number((1, 2)) == 1
    with pytest.raises(UserError):
        again.check_room(["d"])
