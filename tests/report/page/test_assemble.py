"""The page as a file: self-contained, small enough, safe whatever a record holds."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest

from bison_ocl.errors import UserError
from bison_ocl.report.page.assemble import SCRIPTS, page, write
from bison_ocl.report.page.contents import contents
from bison_ocl.report.study.study import Study
from tests.report.records import records
from tests.report.studies import prepared, study, whole_main_table

MOST_BYTES = 8_000_000


class Elements(HTMLParser):
    """Tags with their attributes, and the text of the scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.scripts[-1] += data


def test_it_holds_the_data_and_nothing_from_elsewhere() -> None:
    found = study("demo")
    elements = Elements(page(found))
    *charts, data, _, _ = elements.scripts
    assert json.loads(data)["runs"] == contents(found).details.runs
    assert all(json.loads(one)["data"] for one in charts)
    assert len(charts) > len(contents(found).places) * 5
    addresses = [
        value
        for _, attrs in elements.tags
        for name, value in attrs.items()
        if name in ("src", "href")
    ]
    assert all(re.match("#|data:", address or "") for address in addresses)


def test_every_script_that_is_there_is_in_it() -> None:
    folder = files("bison_ocl.report.page")
    there = {file.name for file in folder.iterdir() if file.name.endswith(".js")}
    assert there == {f"{name}.js" for name in SCRIPTS}


def test_it_lets_no_script_run_but_its_own() -> None:
    elements = Elements(page(study("demo")))
    (rule,) = [a["content"] for tag, a in elements.tags if tag == "meta" and "http-equiv" in a]
    assert rule
    assert "default-src 'none'" in rule
    assert len(re.findall("'sha256-", rule)) == 2
    assert "unsafe-inline" not in rule.partition("script-src")[2].partition(";")[0]


def test_data_cannot_end_their_element() -> None:
    text = """</script><script>alert(1)</script><!-- ' " onload=x"""
    found = [replace(r, method=text, stream=text, commit=text) for r in records("demo", 2)]
    made = Study({text: prepared(found)}, [text])
    elements, usual = Elements(page(made)), Elements(page(study("demo")))
    views = [view for at_place in contents(made).places for view in at_place.views.values()]
    charts = [one for view in views for shown in view.charts.values() for one in shown]
    assert len(elements.scripts) == 3 + sum(one.map is None for one in charts)
    assert not {name for _, attributes in elements.tags for name in attributes} - {
        name for _, attributes in usual.tags for name in attributes
    }
    assert json.loads(elements.scripts[-3])["shared"][0]


def test_the_same_study_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.html", "two.html"):
        write(study("demo"), tmp_path / "new" / name)
    first, second = ((tmp_path / "new" / name).read_bytes() for name in ("one.html", "two.html"))
    assert first == second


def test_the_main_tables_stay_small() -> None:
    found = whole_main_table()
    assert sum(record.rule is None for record in found.items["table1"]) == 1380
    assert len(page(found).encode()) < MOST_BYTES


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        write(study("demo"), tmp_path / "file" / "report.html")
