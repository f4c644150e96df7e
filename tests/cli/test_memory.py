"""`bison-ocl memory FILE`: what it prints, and its contact sheet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from bison_ocl import Learner
from tests.cli.calling import Call, refused
from tests.earlier import learner_file
from tests.learners import ANIMALS, backbone, herd


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A learner with a backbone of its own, which no command could build."""
    learner = Learner("er", memory=30, backbone=backbone())
    x, y = herd(40)
    learner.observe(x, [ANIMALS[i] for i in y], ids=range(40))
    learner.save(tmp_path / "herd")
    return tmp_path / "herd"


def test_it_counts_the_images_of_each_label(call: Call, file: Path) -> None:
    said = call("memory", file)
    assert said.status == 0
    first, *rows = said.out.splitlines()
    assert first == "30 of 30 images, 5.8 kB"
    assert sum(int(row.split()[0]) for row in rows) == 30
    assert {row.split()[1] for row in rows} == set(ANIMALS)


def test_labels_of_equal_text_are_told_apart(call: Call, tmp_path: Path) -> None:
    learner = Learner("er", memory=20, filters=2)
    learner.observe(herd(20)[0], [1, "1"] * 10)
    learner.save(tmp_path / "herd")
    rows = call("memory", tmp_path / "herd").out.splitlines()[1:]
    assert [row.split() for row in rows] == [["10", "1"], ["10", "'1'"]]


def test_labels_stay_on_their_lines(call: Call, tmp_path: Path) -> None:
    """A file of others could move the cursor of a terminal."""
    learner = Learner("er", memory=20, filters=2)
    learner.observe(herd(20)[0], ["a\nb", "\x1b[2Jc"] * 10)
    learner.save(tmp_path / "herd")
    rows = call("memory", tmp_path / "herd").out.splitlines()[1:]
    assert [row.split() for row in rows] == [["10", "a", "b"], ["10", "[2Jc"]]


def test_held_back_images_are_counted_too(call: Call, tmp_path: Path) -> None:
    learner = Learner("er", memory=30, calibration=10, filters=2)
    learner.observe(*herd(205))
    learner.save(tmp_path / "herd")
    said = call("memory", tmp_path / "herd").out
    assert said.startswith("20 and 8 held back of 30 images, 7 waiting, 6.7 kB\n")


def test_json_has_a_row_per_image(call: Call, file: Path) -> None:
    found = json.loads(call("memory", file, "--json").out)
    assert (found["images"], found["capacity"], found["bytes"]) == (30, 30, 30 * 192)
    assert found["shape"] == [8, 8, 3]
    assert len({row["id"] for row in found["rows"]}) == 30
    assert {row["age"] for row in found["rows"]} == {0, 1, 2, 3}


def test_a_file_of_an_earlier_version_has_no_ids_or_ages(call: Call) -> None:
    rows = json.loads(call("memory", learner_file("er"), "--json").out)["rows"]
    assert len(rows) == 20
    assert {(row["id"], row["age"]) for row in rows} == {(None, None)}


def test_the_sheet_is_an_image(call: Call, file: Path) -> None:
    assert call("memory", file, "--sheet", file.parent / "deep" / "sheet.png").status == 0
    with Image.open(file.parent / "deep" / "sheet.png") as sheet:
        assert sheet.size[0] > 100
    refused(call("memory", file, "--sheet", file.parent / "sheet.xyz"), "choose another --sheet")


def test_what_is_no_file_is_refused(call: Call, tmp_path: Path) -> None:
    refused(call("memory", tmp_path / "nothing"), "no file")
