"""Text, Markdown, LaTeX and CSV: each says what the table says, in its own signs."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from functools import cache

import pytest
from rich.console import Console

from bison_ocl.report.formats import text
from bison_ocl.report.formats.csv import HEAD, comma_separated
from bison_ocl.report.formats.latex import escaped as latex_escaped
from bison_ocl.report.formats.latex import latex
from bison_ocl.report.formats.markdown import escaped as markdown_escaped
from bison_ocl.report.formats.markdown import markdown
from bison_ocl.report.formats.wording import runs_of
from bison_ocl.report.study.entry import prepared
from bison_ocl.report.study.labels import Label
from bison_ocl.report.study.measures import AA, AI
from bison_ocl.report.study.paper import Published
from bison_ocl.report.tables.layouts import tables_of
from bison_ocl.report.tables.marks import marked
from bison_ocl.report.tables.table import Column, Comparison, Row, Table
from tests.report.records import records

PLACE = ("split-cifar10", "{}", "class-incremental", 200)


def small() -> Table:
    """Two methods, one reference and one that did not run, over seven seeds."""
    columns = tuple(Column(PLACE, "Split CIFAR-10", name, AA) for name in ("M = 0.2k", "M = 0.5k"))
    high, low = ({seed: base + seed for seed in range(7)} for base in (50.0, 40.0))
    rows = {
        Label("FINE-TUNE", reference=True): [Comparison({0: 17.0})] * 2,
        Label("ER & <co>", "T"): [Comparison(low, Published(38.1, 4.5)), Comparison(low)],
        Label("LODE", "T"): [Comparison(paper=Published(51.1, 2.1)), Comparison()],
        Label("BISON", main=True): [Comparison(high, Published(52.5, 0.7)), Comparison(high)],
    }
    lines = tuple(Row(label, tuple(cells)) for label, cells in rows.items())
    return marked(Table("small", "A table: AA ↑", columns, lines, planned=7))


@cache
def real(item: str) -> list[Table]:
    return tables_of(item, prepared(records(item, 2)))


# --- text ---


def printed() -> str:
    """A table as a pipe shows it."""
    file = io.StringIO()
    Console(file=file, width=text.WIDE, no_color=True).print(text.drawn(small()))
    return file.getvalue()


def test_text_by_line() -> None:
    lines = [" ".join(line.split()) for line in printed().splitlines()]
    assert lines[:4] == [
        "A table: AA ↑",
        "",
        "Split CIFAR-10",
        "method kind M = 0.2k paper Δ M = 0.5k",
    ]
    assert lines[4] == "FINE-TUNE 17.0 (1 of 7)"  # once: it keeps no memory
    assert lines[5] == "ER & <co> T 43.0 ± 2.2 (7)*² 38.1 ± 4.5 +4.9 43.0 ± 2.2 (7)*²"
    assert lines[6] == "LODE T – 51.1 ± 2.1 –"
    assert lines[7] == "BISON 53.0 ± 2.2 (7)¹ 52.5 ± 0.7 +0.5 53.0 ± 2.2 (7)¹"
    assert "¹ best, ² runner-up" in lines


def test_text_is_in_colour_where_the_terminal_is() -> None:
    file = io.StringIO()
    Console(file=file, width=200, force_terminal=True, color_system="standard").print(
        text.drawn(small())
    )
    shown = file.getvalue()
    assert "\x1b[31m+4.9" in shown  # far: red
    assert "\x1b[32m+0.5" in shown  # close: green
    assert "\x1b[1m53.0 ± 2.2" in shown  # best: bold
    assert "\x1b[4m43.0 ± 2.2" in shown  # runner-up: underlined
    assert "\x1b" not in printed()


def test_a_narrow_terminal_does_not_cut_the_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    text.show([small()])
    assert "BISON" in capsys.readouterr().out


# --- Markdown ---


def test_markdown_by_line() -> None:
    lines = markdown(small()).splitlines()
    assert lines[0] == "**Split CIFAR-10**"
    assert lines[2] == "| method | kind | M = 0.2k | paper | Δ | M = 0.5k |"
    assert lines[3] == "| --- | --- | ---: | ---: | ---: | ---: |"
    assert lines[5] == (
        "| ER \\& \\<co> | T | <u>43.0 ± 2.2</u>\\* (7) | 38.1 ± 4.5 | +4.9 🔴 "
        "| <u>43.0 ± 2.2</u>\\* (7) |"
    )
    assert lines[6] == "| LODE | T | – | 51.1 ± 2.1 |  | – |"
    assert (
        lines[7] == "| BISON |  | **53.0 ± 2.2** (7) | 52.5 ± 0.7 | +0.5 🟢 | **53.0 ± 2.2** (7) |"
    )


@pytest.mark.parametrize("item", ["table1", "ablation", "sensitivity", "efficiency"])
def test_markdown_rows_are_as_long_as_their_heads(item: str) -> None:
    for table in real(item):
        rows = [line for line in markdown(table).splitlines() if line.startswith("|")]
        blocks: list[list[int]] = []
        for previous, line in zip(["", *rows], rows, strict=False):
            width = len(re.findall(r"(?<!\\)\|", line))
            if line.startswith(f"| {table.heading} |") and "---" not in previous:
                blocks.append([])
            blocks[-1].append(width)
        assert all(len(set(block)) == 1 for block in blocks)


def test_markdown_signs_are_escaped() -> None:
    assert markdown_escaped("a|b *c* _d_ <e> [f]") == r"a\|b \*c\* \_d\_ \<e> \[f]"
    assert markdown_escaped("`&lt;~") == r"\`\&lt;\~"


# --- LaTeX ---


def test_latex_by_line() -> None:
    lines = latex(small()).splitlines()
    assert r"\begin{tabular}{llrrrr}" in lines
    assert r" &  & \multicolumn{4}{c}{Split CIFAR-10} \\" in lines
    assert r"FINE-TUNE &  & 17.0 {\tiny (1 of 7)} &  &  &  \\" in lines
    ours, best = r"\underline{43.0 $\pm$ 2.2}$^{*}$", r"\textbf{53.0 $\pm$ 2.2}"
    away = r"\textcolor{red!80!black}{+4.9}"
    assert rf"ER \& $<$co$>$ & T & {ours} & 38.1 $\pm$ 4.5 & {away} & {ours} \\" in lines
    assert r"LODE & T & -- & 51.1 $\pm$ 2.1 &  & -- \\" in lines
    near = r"\textcolor{green!50!black}{+0.5}"
    assert rf"BISON &  & {best} & 52.5 $\pm$ 0.7 & {near} & {best} \\" in lines
    (caption,) = [line for line in lines if line.startswith(r"\caption")]
    assert r"green up to 1 point, orange up to 3, red beyond." in caption
    assert r"over 7 runs, or the number in brackets, percent." in caption


@pytest.mark.parametrize(
    ("runs", "planned", "said"),
    [
        ((3, 3, 10), None, "over 3 runs, or the number in brackets"),
        ((3, 3, 3), 10, "over 3 of 10 runs"),
        ((1,), None, "over 1 run"),
        ((0,), 10, "over runs"),
    ],
)
def test_how_many_runs_most_cells_have_is_told_once(
    runs: tuple[int, ...], planned: int | None, said: str
) -> None:
    column = Column(PLACE, "Split CIFAR-10", "M = 0.2k", AA)
    lines = tuple(Row(Label(str(n)), (Comparison(dict.fromkeys(range(n), 1.0)),)) for n in runs)
    assert runs_of(Table("x", "X", (column,), lines, planned=planned)) == said


@pytest.mark.parametrize("item", ["table1", "ablation", "sensitivity", "curves", "time"])
def test_latex_is_balanced_and_every_row_fills_the_table(item: str) -> None:
    for table in real(item):
        code = latex(table)
        assert code.isascii()
        bare = re.sub(r"\\[{}$&%_#]", "", code)
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0
        assert re.findall(r"\\begin\{(\S+?)\}", code) == re.findall(r"\\end\{(\S+?)\}", code)[::-1]
        columns = 0
        for line in bare.splitlines():
            if begun := re.match(r"\\begin\{tabular\}\{l(l?r+)\}", line):
                columns = len(begun[1])
            if line.endswith(r"\\"):
                spans = sum(int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d+)\}", line))
                assert line.count("&") + spans == columns > 0


def test_latex_labels_hold_whatever_a_folder_is_called() -> None:
    odd = replace(small(), name="my %runs_{1}#")
    assert r"\label{tab:my-runs-1-}" in latex(odd).splitlines()


def test_latex_signs_are_escaped() -> None:
    assert latex_escaped("50 % & a_b {x} #1 $") == r"50 \% \& a\_b \{x\} \#1 \$"
    assert latex_escaped("β ≥ 0.1".replace("≥", ">")) == r"$\beta$ $>$ 0.1"


# --- CSV ---


def test_csv_holds_every_cell_in_full() -> None:
    table = small()
    rows = list(csv.DictReader(io.StringIO(comma_separated(table))))
    assert tuple(rows[0]) == HEAD
    assert len(rows) == len(table.rows) * len(table.columns)
    er = rows[2]
    assert (er["line"], er["category"], er["memory"], er["n"]) == ("ER & <co>", "T", "200", "7")
    assert float(er["mean"]) == 43
    assert float(er["std"]) == pytest.approx(2.160246899)
    assert float(er["difference"]) == pytest.approx(4.9)
    assert (er["rank"], float(er["p"])) == ("2", pytest.approx(2 / 2**7))
    missing = rows[4]
    assert (missing["line"], missing["mean"], missing["n"]) == ("LODE", "", "0")
    assert (missing["paper"], missing["rank"]) == ("51.1", "")


def test_csv_of_intransigence_has_both_deviations() -> None:
    cell = Comparison({0: 1.0, 1: 2.0}, Published(5.3, 9.7), over_tasks=8.5)
    column = Column(PLACE, "g", "M", AI)
    (row,) = csv.DictReader(
        io.StringIO(comma_separated(Table("t", "T", (column,), (Row(Label("a"), (cell,)),))))
    )
    assert (row["std"], row["std_over_tasks"], row["paper_std"]) == ("0.707106781", "8.5", "9.7")
    assert row["planned"] == ""
