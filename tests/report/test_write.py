"""The whole report of a folder, and the command: what it writes, says and refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pytest
from PIL import Image

from bison_ocl.cli import main
from bison_ocl.report import figures
from bison_ocl.report.figures.drawing.save import DOTS
from bison_ocl.report.formats.markdown import markdown
from bison_ocl.report.formats.results_page import counted, ranges
from bison_ocl.report.write import write
from tests.report.records import records
from tests.report.test_folder import put


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the seconds that drawing takes."""
    nothing = figures.Saved([], [])
    monkeypatch.setattr(figures, "save_all", lambda study, *_: dict.fromkeys(study.items, nothing))


class Said(NamedTuple):
    status: int | str | None
    out: str
    err: str


@pytest.fixture
def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Said]:
    def run(*words: str | Path) -> Said:
        monkeypatch.setattr(sys, "argv", ["bison-ocl", *map(str, words)])
        with pytest.raises(SystemExit) as caught:
            main()
        return Said(caught.value.code, *capsys.readouterr())

    return run


def test_everything_is_there_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    found = [replace(r, losses=None) for r in records("generic", 2)]
    path = put(tmp_path / "my runs", *found)
    before, out = path.read_bytes(), tmp_path / "report of it"
    said: list[str] = []
    written = write(tmp_path / "my runs", out=out, say=said.append)
    assert said == ["no figure my runs-losses: no run recorded a loss"]
    assert path.read_bytes() == before
    assert not (tmp_path / "my runs" / "report.html").exists()
    assert written.page == out / "report.html"
    assert written.page.read_text("utf-8").lower().startswith("<!doctype html>")
    assert {file.name for file in (out / "tables").iterdir()} == {
        f"my runs.{kind}" for kind in ("tex", "csv")
    }
    assert {path.suffix for path in (out / "figures").iterdir()} == {".png", ".svg", ".pdf"}
    text = written.results.read_text("utf-8")
    links = [unquote(link) for link in re.findall(r"\]\((\S+?)\)", text)]
    assert len(links) > 10
    for link in links:
        assert (out / link).is_file(), link
    assert "| my runs | my runs | 6 | FINE-TUNE, ER, BISON | Split Digits | 0-1 |" in text
    assert "- hardware: NVIDIA H200" in text
    assert f"- {said[0]}" in text
    assert "commit 01234567" in text


@pytest.mark.usefixtures("no_figures")
def test_results_hold_the_tables_of_every_item(tmp_path: Path) -> None:
    put(tmp_path / "ablation", *records("ablation", 1))
    put(tmp_path / "efficiency", *records("efficiency", 1))
    written = write(tmp_path)
    text = (tmp_path / "RESULTS.md").read_text("utf-8")
    assert list(written.tables) == ["ablation", "efficiency"]
    assert text.index("## BISON without its parts") < text.index("## Parameters and peak memory")
    for item in ("ablation", "efficiency"):
        assert markdown(written.tables[item][0]).strip() in text
    assert "## Notes" not in text


@pytest.mark.usefixtures("no_figures")
def test_a_run_that_an_item_copied_was_trained_once(tmp_path: Path) -> None:
    found = records("confusion", 1)
    put(tmp_path / "confusion", *found)
    put(tmp_path / "similar-pairs", *found)
    remeasured = replace(found[0], timing=replace(found[0].timing, total_s=7200.0), commit="f" * 40)
    put(tmp_path / "time", remeasured)
    (commits,) = write(tmp_path).warnings
    assert commits == "the records come from 2 commits: 01234567 (3), ffffffff (1)"
    text = (tmp_path / "RESULTS.md").read_text("utf-8")
    hours = 2 + sum(one.timing.total_s for one in found) / 3600
    assert f"- 4 runs, {hours:.1f} hours of training and tests" in text
    assert text.count("| 3 | ER, SS-IL, BISON |") == 2


@pytest.mark.usefixtures("no_figures")
def test_without_the_page_nothing_leads_to_it(tmp_path: Path) -> None:
    put(tmp_path / "x", *records("generic", 1))
    written = write(tmp_path, with_page=False)
    assert written.page is None
    assert not (tmp_path / "report.html").exists()
    assert "report.html" not in written.results.read_text("utf-8")


def test_the_published_results_are_those_of_the_records(tmp_path: Path) -> None:
    """`make results` writes them; nobody edits them."""
    project = Path(__file__).parents[2]
    (items,) = re.findall(r"^PUBLISHED := (.+)$", (project / "Makefile").read_text("utf-8"), re.M)
    reported = [project / "results" / item for item in items.split()]
    found = write(*reported, out=tmp_path, with_page=False, formats=["png"])
    assert found.results.read_text("utf-8") == (project / "docs/RESULTS.md").read_text("utf-8")
    pictures = {path.name for path in (tmp_path / "figures").iterdir()}
    assert pictures <= {path.name for path in (project / "docs/figures").iterdir()}
    assert not (tmp_path / "tables").exists()


@pytest.mark.usefixtures("no_figures")
def test_some_folders_are_one_report_in_the_first(tmp_path: Path) -> None:
    for name in ("one", "two"):
        put(tmp_path / name, *records("generic", 1))
    written = write(tmp_path / "one", tmp_path / "two", with_page=False)
    again = write(tmp_path, tmp_path / "two", tmp_path / "one", with_page=False)
    assert list(written.tables) == list(again.tables) == ["one", "two"]
    assert again.warnings == written.warnings
    assert written.results == tmp_path / "one" / "RESULTS.md"


@pytest.mark.usefixtures("no_figures")
def test_a_second_report_replaces_the_first(tmp_path: Path) -> None:
    put(tmp_path / "x", *records("generic", 1))
    write(tmp_path)
    first = (tmp_path / "RESULTS.md").read_text("utf-8")
    put(tmp_path / "x", *records("generic", 2))
    written = write(tmp_path)
    (twice,) = written.warnings
    assert twice.startswith("x: 3 lines of runs that are there twice")
    second = (tmp_path / "RESULTS.md").read_text("utf-8")
    assert second != first
    assert f"- {twice}" in second


@pytest.mark.usefixtures("no_figures")
def test_the_command_prints_the_tables_and_says_where_the_report_is(
    tmp_path: Path, call: Callable[..., Said]
) -> None:
    put(tmp_path / "x", *records("generic", 2)[2:])
    said = call("report", tmp_path)
    assert said.status == 0
    assert "Split Digits, M = 100" in said.out
    assert said.out.splitlines()[-1].startswith(f"report: {tmp_path / 'report.html'};")
    assert said.err.startswith("note: x: 4 runs without AI")
    assert (tmp_path / "report.html").exists()


@pytest.mark.usefixtures("no_figures")
def test_the_report_of_a_file_stands_beside_it(tmp_path: Path, call: Callable[..., Said]) -> None:
    file = put(tmp_path / "x", *records("generic", 1)).rename(tmp_path / "x" / "pilot.jsonl")
    assert call("report", file).status == 0
    assert {path.name for path in file.parent.iterdir()} == {
        *("pilot.jsonl", "report.html", "RESULTS.md", "tables"),
    }
    assert (tmp_path / "x" / "tables" / "pilot.csv").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (json.dumps({"schema": 7}), "line 7 has schema 7, this version reads 1 to 2"),
        ("{", "line 7 is not a result"),
    ],
)
def test_bad_records_are_one_line_and_nothing_is_written(
    tmp_path: Path, call: Callable[..., Said], line: str, message: str
) -> None:
    path = put(tmp_path / "x", *records("generic", 2))
    path.write_text(path.read_text() + line + "\n")
    said = call("report", tmp_path)
    assert (said.status, said.out) == (2, "")
    assert message in said.err
    assert said.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "x", path]


def test_folders_that_are_none(tmp_path: Path, call: Callable[..., Said]) -> None:
    put(tmp_path / "x", *records("generic", 1))
    (tmp_path / "file").write_text("")
    for words, message in (
        (("none",), "no file or folder none: give a folder of results"),
        ((tmp_path / "x", "--out", tmp_path / "file" / "there"), "cannot write to"),
        ((tmp_path / "x", "--out", tmp_path / "file"), "cannot write to"),
    ):
        said = call("report", *words)
        assert (said.status, said.out) == (2, "")
        assert message in said.err
        assert said.err.count("\n") == 1


def test_short_forms() -> None:
    assert ranges([9, 0, 1, 2, 5]) == "0-2, 5, 9"
    assert counted(["a", "a"]) == "a"
    assert counted(["a", None, "a"]) == "a (2), unknown (1)"


def test_some_methods_and_a_width(tmp_path: Path, call: Callable[..., Said]) -> None:
    put(tmp_path / "x", *records("generic", 2))
    words = ("report", tmp_path, "--no-page", "--format", "png", "--format", "csv")
    said = call(*words, "--methods", "er, bison", "--width", "3.5")
    assert said.status == 0
    rows = {line.split()[0]: line for line in said.out.splitlines() if line.strip()}
    assert "FINE-TUNE" not in rows
    assert "BISON" in rows
    assert "/" in rows["ER"]  # AI with its deviation over tasks
    with Image.open(tmp_path / "figures" / "x-curves.png") as picture:
        assert picture.width == 3.5 * DOTS
    said = call(*words, "--methods", "er,lode")
    assert (said.status, said.out) == (2, "")
    assert "no run of 'lode': there are runs of bison, er, finetune" in said.err


def test_a_report_needs_no_torch(tmp_path: Path) -> None:
    """Importing it takes longer than everything that a report computes."""
    found = put(tmp_path, *records("table1", 1))
    code = "import sys; from bison_ocl.report.write import write; from pathlib import Path\n"
    code += "write(Path(sys.argv[1]), formats=['csv']); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code, found], check=True, capture_output=True)
