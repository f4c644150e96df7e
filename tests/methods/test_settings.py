"""Settings: typed, named as the papers name them, with presets by dataset."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from bison_ocl.errors import UserError
from bison_ocl.methods import METHODS, method_class
from bison_ocl.methods.bison import Bison
from bison_ocl.methods.settings import configured, parse, settings_of, typed


def test_defaults_are_the_papers_for_small_data() -> None:
    found = settings_of(configured("bison", None, {}))
    wanted = {"beta": 0.1, "lambda": 3.0, "gamma": 32.0, "delta": 0.1, "eta": 1.0}
    assert wanted.items() <= found.items()
    assert (found["stream_batch"], found["buffer_batch"], found["filters"]) == (10, 10, 20)
    assert configured("bison", "split-digits", {}) == configured("bison", None, {})


@pytest.mark.parametrize("data", ["split-cifar100", "split-miniimagenet", "split-tinyimagenet"])
def test_presets_by_dataset_give_way_to_the_user(data: str) -> None:
    preset = configured("bison", data, {})
    assert isinstance(preset, Bison)
    assert (preset.beta, preset.lambda_) == (0.2, 10.0)
    changed = configured("bison", data, {"lambda": "5"})
    assert isinstance(changed, Bison)
    assert (changed.beta, changed.lambda_) == (0.2, 5.0)


@pytest.mark.parametrize("key", ["lambda", "lambda_"])
def test_lambda_is_known_by_its_name(key: str) -> None:
    method = configured("bison", None, {key: 2})
    assert settings_of(method)["lambda"] == 2.0
    assert "lambda_" not in settings_of(method)


@pytest.mark.parametrize(
    ("settings", "name", "value"),
    [
        ({"beta": "0.25"}, "beta", 0.25),
        ({"beta": 1}, "beta", 1.0),
        ({"beta": "-1e-3"}, "beta", -0.001),
        ({"beta": np.float32(0.5)}, "beta", 0.5),
        ({"stream_batch": "7"}, "stream_batch", 7),
        ({"stream_batch": np.int64(7)}, "stream_batch", 7),
        ({"joint": "true"}, "joint", True),
        ({"joint": "False"}, "joint", False),
        ({"joint": True}, "joint", True),
        ({"pal": "off"}, "pal", "off"),
        ({"view_mode": "replace"}, "view_mode", "replace"),
    ],
)
def test_values_and_their_texts(settings: dict[str, Any], name: str, value: Any) -> None:
    found = settings_of(configured("bison", None, settings))[name]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"betta": 1}, "unknown setting 'betta' of bison: did you mean 'beta'?"),
        ({"lamda": 1}, "did you mean 'lambda'?"),
        ({"zzz": 1}, "unknown setting 'zzz' of bison: choose from "),
        ({"beta": "nan"}, "beta=nan: expected a finite number"),
        ({"beta": "inf"}, "beta=inf: expected a finite number"),
        ({"beta": float("-inf")}, "beta=-inf: expected a finite number"),
        ({"beta": "1e999"}, "expected a finite number"),
        ({"beta": "x"}, "expected a finite number"),
        ({"beta": None}, "expected a finite number"),
        ({"beta": [1]}, "expected a finite number"),
        ({"stream_batch": "0"}, "stream_batch=0: expected a whole number from 1"),
        ({"stream_batch": -3}, "expected a whole number from 1"),
        ({"stream_batch": "1.5"}, "expected a whole number from 1"),
        ({"stream_batch": 10.0}, "expected a whole number from 1"),
        ({"stream_batch": None}, "expected a whole number from 1"),
        ({"joint": "yes"}, "joint=yes: expected true or false"),
        ({"joint": 1}, "expected true or false"),
        ({"pal": "up"}, "pal=up: choose from bs, sb, off"),
        ({"pal": 1}, "pal=1: choose from bs, sb, off"),
        ({"dc": "false"}, "dc=false leaves one classifier: add paf=off"),
    ],
)
def test_wrong_values_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        configured("bison", None, settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", METHODS)
def test_every_methods_settings_survive_json_and_text(name: str) -> None:
    method = method_class(name)()
    settings = settings_of(method)
    assert configured(name, None, json.loads(json.dumps(settings))) == method
    assert configured(name, None, {key: str(value) for key, value in settings.items()}) == method


def test_unknown_methods() -> None:
    with pytest.raises(UserError, match="unknown method 'bisn': did you mean 'bison'"):
        configured("bisn", None, {})
    with pytest.raises(UserError, match="choose from bison"):
        configured("qqq", None, {})


def test_assignments() -> None:
    assert parse(["beta=0.2", " lambda = 3 ", "x=a=b"]) == {
        "beta": "0.2",
        "lambda": "3",
        "x": "a=b",
    }
    assert parse([]) == {}


def test_an_assignment_does_not_hide_an_earlier_one() -> None:
    with pytest.raises(UserError, match=r"^--set lr is given twice, 0\.1 and 0\.2: give it once$"):
        parse(["lr=0.1", "beta=0.2", " lr = 0.2"])


@pytest.mark.parametrize("text", ["beta", "beta=", "=3", "", "beta= "])
def test_assignments_need_key_and_value(text: str) -> None:
    with pytest.raises(UserError, match="expected key=value"):
        parse([text])


@pytest.mark.parametrize(
    ("name", "setting", "value", "why"),
    [
        ("pcr", "temperature", 0, "above 0"),
        ("er", "lr", -1, "above 0"),
        ("gdumb", "clip", 0, "above 0"),
        ("onpro", "mixup_rate", 1.5, "from 0 to 1"),
        ("ocm", "joint", True, "no effect on ocm"),
        ("onpro", "view_mode", "replace", "no effect on onpro"),
        ("finetune", "buffer_batch", 20, "no effect on finetune"),
    ],
)
def test_impossible_and_idle_settings_are_refused(
    name: str, setting: str, value: object, why: str
) -> None:
    with pytest.raises(UserError, match=why):
        configured(name, None, {setting: value})


def test_an_idle_setting_at_its_own_value_is_no_claim() -> None:
    assert configured("ocm", None, {"joint": False}).joint is False


@pytest.mark.parametrize("hint", [str, list[int], int | None])
def test_a_setting_of_another_type_is_refused(hint: object) -> None:
    with pytest.raises(UserError, match="words is of type"):
        typed("words", "any", hint)
