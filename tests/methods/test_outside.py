"""Methods from outside the package: named by a file or by an installed package, never by a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from bison_ocl.contract import template
from bison_ocl.errors import UserError
from bison_ocl.methods import METHODS, known_class, method_class, name_of, outside, registered_name
from bison_ocl.methods.bison import Bison
from bison_ocl.methods.er import ER
from bison_ocl.methods.outside import (
    REGISTERED,
    read,
    register_file,
    slug,
    source_digest,
    source_of,
)
from bison_ocl.methods.settings import configured, settings_of

TEXT = Path(template.__file__).read_text("utf-8")


@pytest.fixture(autouse=True)
def nothing_registered() -> Iterator[None]:
    """What a test takes in is gone after it."""
    yield
    REGISTERED.clear()
    for name in [name for name in sys.modules if name.startswith("bison_ocl_outside_")]:
        del sys.modules[name]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(TEXT, "utf-8")
    return path


def test_a_file_is_taken_in_once_and_known_by_its_title(mine: Path) -> None:
    assert known_class("mine") is None
    assert registered_name(f"{mine}:Mine") == "mine"
    found = method_class("mine")
    assert found is method_class(f"{mine}:Mine") is known_class("mine")
    assert issubclass(found, ER.__mro__[1])
    assert settings_of(configured("mine", None, {"weight": "3"}))["weight"] == 3.0
    assert name_of(found) == "mine"


def test_the_text_of_a_file_is_all_that_another_process_needs(mine: Path) -> None:
    source = read(f"{mine}:Mine")
    mine.unlink()
    assert register_file(source) == "mine"
    assert source_of("mine") == source
    assert source_digest("mine") == source.digest
    assert len(source.digest) == 64


def test_another_text_is_another_class(mine: Path) -> None:
    first = method_class(f"{mine}:Mine"), source_digest("mine")
    mine.write_text(TEXT.replace("= 2.0", "= 4.0"), "utf-8")
    second = method_class(f"{mine}:Mine"), source_digest("mine")
    assert (first[0]().weight, second[0]().weight) == (2.0, 4.0)  # type: ignore[attr-defined]
    assert first[1] != second[1]


@pytest.mark.parametrize(
    ("text", "reference", "message"),
    [
        (TEXT, "Yours", "has no class 'Yours': it has Mine"),
        ("x = 1", "x", "1 is not a method: expected a subclass of Method"),
        ("x = 1", "Mine", "has no class 'Mine'"),
        (TEXT.replace('title = "Mine"', ""), "Mine", "Mine has no title"),
        (TEXT.replace('"Mine"', '"重放"'), "Mine", "has the title '重放': expected a letter"),
        (TEXT.replace('"Mine"', '"ER"'), "Mine", "the name er is taken; change the title"),
        ("raise ValueError('a\\nb')", "Mine", "cannot be run: ValueError: a (mine.py line 1)"),
        ("import beside", "Mine", "no other file of its folder"),
        ("def", "Mine", "cannot be run: SyntaxError"),
    ],
)
def test_what_is_no_method_is_refused_in_one_line(
    text: str, reference: str, message: str, mine: Path
) -> None:
    mine.write_text(text, "utf-8")
    with pytest.raises(UserError) as caught:
        registered_name(f"{mine}:{reference}")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not REGISTERED


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read .*: No such file"):
        registered_name(f"{tmp_path / 'none.py'}:Mine")


def test_an_installed_package_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("mine", "bison_ocl.contract.template:Mine", outside.GROUP)
    monkeypatch.setattr(outside, "entry_points", lambda group: [point])
    assert known_class("mine") is None  # a name in a file imports nothing
    assert method_class("mine") is template.Mine
    assert known_class("mine") is template.Mine
    assert source_of("mine") is None
    assert source_digest("mine") == outside.digest_of(template.Mine) is not None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("other", "bison_ocl.contract.template:Mine", "rename it mine"),
        ("mine", "bison_ocl.contract.template:None_", "cannot be imported: AttributeError"),
    ],
)
def test_an_entry_point_that_does_not_fit_is_refused(
    name: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint(name, value, outside.GROUP)
    monkeypatch.setattr(outside, "entry_points", lambda group: [point])
    with pytest.raises(UserError, match=message):
        method_class(name)


@pytest.mark.parametrize("name", METHODS)
def test_classes_of_the_package_have_their_names(name: str) -> None:
    assert name_of(method_class(name)) == name


def test_names_from_titles() -> None:
    assert slug("My Method++ (2026)") == "my-method-2026"
    assert name_of(Bison) == "bison"
