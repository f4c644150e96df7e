"""Names that a folder or a record may bring: line ends, control characters, formulas, no text."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from unicodedata import category

import pytest

from bison_ocl.experiments.records.record import Record
from bison_ocl.report.formats.csv import comma_separated, harmless
from bison_ocl.report.formats.printable import printable, with_printable_names
from bison_ocl.report.formats.text import show
from bison_ocl.report.study.study import load
from bison_ocl.report.tables.layouts import tables_of
from bison_ocl.report.write import write
from tests.report.records import records
from tests.report.test_folder import put

NAME = "=a\r\n\n| b\t\x1b[31m\x00\u2028\u2029\udcff\x85\\end{table*} $x"
FOLDER = NAME.replace("\x00", "")


def hostile() -> list[Record]:
    """Records of a folder, a method and settings that nobody would name so."""
    return [
        replace(
            one,
            data=f"folder:/data/{NAME}",
            **({"method": NAME, "settings": {"a": "\n"}} if one.method == "er" else {}),
            data_options={"tasks": NAME},
            class_names=[f"{NAME} {label}" for label in range(10)],
            environment=replace(one.environment, device=NAME),
            commit=NAME,
        )
        for one in records("generic", 2)
    ]


def unfit(text: str) -> set[str]:
    """Characters that no file of a report may hold."""
    return {sign for sign in text if category(sign) in ("Cc", "Zl", "Zp", "Cs")} - {"\n"}


def test_no_name_breaks_a_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = [replace(one, data="folder:/data/plain") for one in records("generic", 2)]
    put(tmp_path / "plain/plain", *plain)
    put(tmp_path / "odd" / FOLDER, *hostile())
    usual = write(tmp_path / "plain", out=tmp_path / "a", say=lambda _: None)
    odd = write(tmp_path / "odd", out=tmp_path / "b", say=lambda _: None)
    for kind in ("tex", "csv"):
        one, other = (
            next((out / "tables").glob(f"*.{kind}")).read_text("utf-8").split("\n")
            for out in (tmp_path / "a", tmp_path / "b")
        )
        assert len(one) == len(other)
        assert not unfit("\n".join(other))
    markdown, page = odd.results.read_text("utf-8"), odd.page
    assert page is not None
    assert not unfit(markdown)
    rows = re.findall(r"(?m)^\|.*$", markdown)
    assert len(rows) == len(re.findall(r"(?m)^\|.*$", usual.results.read_text("utf-8")))
    pattern = r"<script[^>]*application/json[^>]*>(.*?)</script>"
    data = re.findall(pattern, page.read_text("utf-8"), re.S)
    assert json.loads(data[-1])["runs"]
    assert all(json.loads(one)["layout"] for one in data[:-1])
    show(table for found in odd.tables.values() for table in found)
    assert not unfit(capsys.readouterr().out)


def test_text_cells_are_no_formulas_and_numbers_stay_numbers(tmp_path: Path) -> None:
    found = [replace(one, method="@er") for one in records("generic", 2)]
    put(tmp_path / "=1+1", *found)
    study = load(tmp_path)
    (table,) = tables_of("=1+1", study.items["=1+1"])
    lines = list(csv.DictReader(io.StringIO(comma_separated(table))))
    assert {line["table"] for line in lines} == {"'=1+1"}
    assert {line["line"][:2] for line in lines} == {"'@"}
    for line in lines:
        for value in (line["mean"], line["std"], line["memory"]):
            assert re.fullmatch(r"-?[\d.]*", value)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "-3.2"])
def test_what_looks_like_a_formula_is_quoted(text: str) -> None:
    assert harmless(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "ER", "a=1", "1-2", "– missing", "(bs, sb)"])
def test_other_text_is_left_alone(text: str) -> None:
    assert harmless(text) == text


def test_printable_text() -> None:
    assert printable("Ünïcode – 日本 α") == "Ünïcode – 日本 α"
    assert printable("a\nb\tc\x1b[0m\u2028d\udcff") == "a b c [0m d\N{REPLACEMENT CHARACTER}"
    assert with_printable_names({"a\n": {"b": "c\n", "d": [1.5]}, "e": ["f\n"], "n": 3}) == {
        "a ": {"b": "c ", "d": [1.5]},
        "e": ["f "],
        "n": 3,
    }
