"""`data check` reads the files themselves and tells what is in them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from bison_ocl import data as datasets
from bison_ocl.cli.app import app
from bison_ocl.data.check import check, describe
from bison_ocl.data.sheet import save
from bison_ocl.data.storage import official
from bison_ocl.errors import UserError
from tests.data.official_files import Made, cifar10_files, cifar100_files, made, put
from tests.data.test_cifar import real, there

TEN = made(classes=10, train=3, test=2)


def with_duplicates(data: Made) -> Made:
    """The first two test images are training images too."""
    test = data.test_x.copy()
    test[:2] = data.train_x[4:6]
    return replace(data, test_x=test)


def test_the_findings_are_the_files(tmp_path: Path) -> None:
    data = with_duplicates(TEN)
    put(tmp_path, *cifar10_files(data, "python 3"), "archive")
    findings = check(datasets.source_of("split-cifar10", tmp_path))
    assert findings.duplicates == [(0, 4), (1, 5)]
    labels = np.array(data.test_y, dtype="<i8").tobytes()
    assert findings.test.sha256 == hashlib.sha256(data.test_x.tobytes() + labels).hexdigest()
    lines = list(describe(findings))
    assert lines[0] == "split-cifar10: 30 training + 20 test images, 3x32x32, 10 classes, 5 tasks"
    assert lines[1].startswith("3 + 2 images in 10 classes: kind0, kind1,")
    assert "not the official file" in lines[2]
    assert "test images that are also training images: 2" in lines
    name = f"kind{data.test_y[0]}"
    assert f"  test 0 ({name}) = train 4 (kind{data.train_y[4]})" in lines


def test_the_sums_are_the_same_from_every_form_and_in_the_cache(tmp_path: Path) -> None:
    sums = set()
    for form in ("python 2", "binary"):
        for packing in ("folder", "archive"):
            place = tmp_path / form / packing
            put(place, *cifar10_files(TEN, form), packing)
            sums.add(check(datasets.source_of("split-cifar10", place)).test.sha256)
            sums.add(datasets.load("split-cifar10", place).test_sha256)
    assert len(sums) == 1


def test_an_official_file_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, *cifar10_files(TEN, "python 3"), "archive")
    md5 = hashlib.md5(path.read_bytes()).hexdigest()
    monkeypatch.setitem(official.SUMS, path.name, md5)
    lines = list(describe(check(datasets.source_of("split-cifar10", tmp_path))))
    assert lines[2] == f"{path}: md5 {md5}, the official file"


def test_unequal_classes_are_told_apart(tmp_path: Path) -> None:
    data = replace(TEN, train_y=[(label if label else 1) for label in TEN.train_y])
    data.train_y[0] = 0
    put(tmp_path, *cifar10_files(data, "binary"), "folder")
    lines = list(describe(check(datasets.source_of("split-cifar10", tmp_path))))
    assert any(line.startswith("1 + 2 images in 1 class: kind0") for line in lines)
    assert "no official checksum known" in lines[4]


def test_the_contact_sheet_shows_the_images_beside_the_names(tmp_path: Path) -> None:
    put(tmp_path, *cifar100_files(made(100, 2, 1), "python 3"), "folder")
    findings = check(datasets.source_of("split-cifar100", tmp_path))
    path = save(findings, tmp_path / "new")
    assert path.name == "split-cifar100.png"
    with Image.open(path) as sheet:
        pixels = np.asarray(sheet)
    image = findings.train.samples[0][0].transpose(1, 2, 0).repeat(2, axis=0).repeat(2, axis=1)
    assert np.array_equal(pixels[4:68, 178:242], image)
    assert (pixels[4:68, 8:178] < 100).any()
    with pytest.raises(UserError, match="choose another --out"):
        save(findings, path)


def test_the_command_prints_the_findings_and_leaves_the_cache_alone(tmp_path: Path) -> None:
    put(tmp_path / "data", *cifar10_files(with_duplicates(TEN), "python 2"), "archive")
    asked = ["data", "check", "split-cifar10", "--data-dir", str(tmp_path / "data")]
    result = CliRunner().invoke(app, [*asked, "--out", str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0
    assert "test images that are also training images: 2" in result.output
    assert "cache: none" in result.output
    assert (tmp_path / "split-cifar10.png").exists()
    assert not (tmp_path / "data" / "cache").exists()


def test_a_damaged_file_ends_the_command(tmp_path: Path) -> None:
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(b"")
    asked = ["data", "check", "split-cifar10", "--data-dir", str(tmp_path)]
    with pytest.raises(UserError, match="is truncated or damaged"):
        CliRunner().invoke(app, asked, catch_exceptions=False)


@pytest.mark.parametrize("name", ["split-digits", "folder:"])
def test_what_has_no_files_is_said_so(name: str) -> None:
    with pytest.raises(UserError, match=r"is part of the package|unknown dataset"):
        CliRunner().invoke(app, ["data", "check", name], catch_exceptions=False)


@real
def test_the_real_cifar_100_has_ten_test_images_among_its_training_images() -> None:
    findings = check(there("split-cifar100"))
    assert len(findings.duplicates) == 10
