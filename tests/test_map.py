"""The map in DESIGN.md is the import contract, and every room is on it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1]
PACKAGE = PROJECT / "src" / "bison_ocl"


def contract() -> list[set[str]]:
    """The layers of the package, high to low."""
    tool = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["tool"]
    (found,) = [one for one in tool["importlinter"]["contracts"] if one.get("exhaustive")]
    return [set(re.findall(r"\w+", layer)) for layer in found["layers"]]


def mapped() -> list[str]:
    """The rooms in the order of the map."""
    design = (PROJECT / "DESIGN.md").read_text("utf-8")
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ", design.partition("## The ideas")[0], re.M)
    return [name for row in rows for name in re.findall(r"\w+", row)]


def test_the_map_is_the_import_contract() -> None:
    layer = {name: place for place, names in enumerate(contract()) for name in names}
    assert sorted(mapped()) == sorted(layer)
    places = [layer[name] for name in mapped()]
    assert places == sorted(places)


def test_every_room_and_file_of_the_package_is_on_the_map() -> None:
    found = {path.stem for path in PACKAGE.iterdir() if not path.name.startswith(("_", "py."))}
    assert found == set(mapped())


def test_no_room_is_crowded() -> None:
    """About a dozen files per room; only `methods` has one for each of many of a kind."""
    rooms = [path for path in PACKAGE.rglob("*") if path.is_dir() and path.name != "__pycache__"]
    sizes = {room.relative_to(PACKAGE).as_posix(): len(list(room.glob("*.py"))) for room in rooms}
    assert {room: n for room, n in sizes.items() if n > 15 and room != "methods"} == {}
