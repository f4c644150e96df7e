"""A table as a value: ranks, tests over common seeds, distance from the paper, what is printed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bison_ocl.report import cells
from bison_ocl.report.cells import Cell, Column, Label, Line, Table, marked
from bison_ocl.report.measures import AA, AF, PARAMETERS, TOTAL, Measure
from bison_ocl.report.paper import Published
from bison_ocl.report.significance import holm, sign_flip

PLACE = ("split-digits", "{}", "class-incremental", 100)


def cell(*values: float, paper: Published | None = None) -> Cell:
    return Cell(dict(enumerate(values)), paper)


def column(measure: Measure = AA, group: str = "all") -> Column:
    return Column(PLACE, group, measure.label, measure)


def table(
    lines: dict[str, Sequence[Cell]],
    columns: Sequence[Column] | None = None,
    main: str | None = None,
    reference: str | None = None,
) -> Table:
    made = columns or [column()]
    found = [
        Line(Label(name, main=name == main, reference=name == reference), tuple(row))
        for name, row in lines.items()
    ]
    return Table("t", "T", tuple(made), tuple(found), planned=10)


def ranks(found: Table) -> list[list[int]]:
    return [[cell.rank for cell in line.cells] for line in found.lines]


# --- best and runner-up ---


@pytest.mark.parametrize(("measure", "expected"), [(AA, [0, 2, 1]), (AF, [1, 2, 0])])
def test_best_and_runner_up(measure: Measure, expected: list[int]) -> None:
    lines = {"a": [cell(1.0)], "b": [cell(2.0)], "c": [cell(3.0)]}
    assert ranks(marked(table(lines, [column(measure)]))) == [[rank] for rank in expected]


def test_equal_ones_share_a_rank_and_missing_ones_have_none() -> None:
    lines = {"a": [cell(3.0)], "b": [cell(3.0)], "c": [cell(2.0)], "d": [cell()]}
    assert ranks(marked(table(lines))) == [[1], [1], [2], [0]]


def test_the_reference_takes_no_rank() -> None:
    lines = {"fine-tune": [cell(9.0)], "a": [cell(3.0)], "b": [cell(2.0)]}
    assert ranks(marked(table(lines, reference="fine-tune"))) == [[0], [1], [2]]


def test_one_line_is_not_the_best_of_anything() -> None:
    assert ranks(marked(table({"a": [cell(3.0)], "b": [cell()]}))) == [[0], [0]]


def test_over_a_whole_group() -> None:
    columns = [column(), column(), column(group="other")]
    lines = {"a": [cell(1.0), cell(4.0), cell(1.0)], "b": [cell(3.0), cell(2.0), cell(2.0)]}
    assert ranks(marked(table(lines, columns), whole_group=True)) == [[0, 1, 2], [2, 0, 1]]


# --- the test between lines ---


def test_lines_are_tested_against_the_main_one_over_common_seeds() -> None:
    random = np.random.default_rng(1)
    main, near, far = random.normal(size=8), random.normal(size=8), random.normal(size=8) - 5
    found = marked(
        table(
            {
                "main": [cell(*main)],
                "near": [cell(*near)],
                "far": [Cell({7: far[7], 9: 1e6, **dict(enumerate(far[:7]))})],
            },
            main="main",
        )
    )
    expected = holm([sign_flip(near, main), sign_flip(far, main)])
    assert found.lines[0].cells[0].p is None
    assert [line.cells[0].p for line in found.lines[1:]] == pytest.approx(expected)
    assert [line.cells[0].differs for line in found.lines] == [False, False, True]


def test_without_a_main_line_the_best_is_tested_against() -> None:
    found = marked(table({"a": [cell(1.0, 2.0)], "b": [cell(3.0, 4.0)]}))
    assert [line.cells[0].p for line in found.lines] == [0.5, None]
    assert "differs from the best" in " ".join(cells.legend(found))


def test_no_common_seed_no_test() -> None:
    lines = {"main": [Cell({0: 1.0})], "a": [Cell({1: 2.0})]}
    assert marked(table(lines, main="main")).lines[1].cells[0].p is None


def test_tests_can_be_left_out() -> None:
    found = marked(table({"a": [cell(1.0)], "b": [cell(3.0)]}), tested=False)
    assert all(line.cells[0].p is None for line in found.lines)
    assert not any("differs" in note for note in cells.legend(found))


@pytest.mark.parametrize(("others", "seeds"), [(1, 6), (13, 10)])
def test_the_legend_says_how_many_seeds_can_show_a_difference(others: int, seeds: int) -> None:
    lines = {"main": [cell(0.0)]} | {str(i): [cell(1.0)] for i in range(others)}
    found = marked(table(lines, main="main"))
    assert f"{seeds} seeds at least" in " ".join(cells.legend(found))
    assert holm([2 / 2**seeds] * others)[0] < 0.05 <= holm([2 / 2 ** (seeds - 1)] * others)[0]


# --- beside the paper ---


@pytest.mark.parametrize(
    ("ours", "size"), [(51.6, "close"), (53.5, "close"), (50.0, "near"), (49.0, "far")]
)
def test_how_far_from_the_paper(ours: float, size: str) -> None:
    found = cell(ours, paper=Published(52.5, 0.7))
    assert found.difference == pytest.approx(ours - 52.5)
    assert cells.size(found, column()) == size


def test_other_units_are_judged_by_their_share_or_not_at_all() -> None:
    found = cell(1_096_343.0, paper=Published(1_094_750, None))
    assert cells.size(found, column(PARAMETERS)) == "close"
    assert cells.size(cell(10.0, paper=Published(30.0, None)), column(TOTAL)) is None
    assert cells.size(cell(1.0), column()) is None
    assert cells.size(cell(paper=Published(1.0, None)), column()) is None


def test_what_is_printed() -> None:
    found, made = cell(52.0, 53.0, paper=Published(52.5, 0.7)), table({})
    assert cells.ours(found, column()) == "52.5 ± 0.7"
    assert cells.paper(found, column()) == "52.5 ± 0.7"
    assert cells.difference(found, column()) == "+0.0"
    assert cells.count(found, made) == "(2 of 10)"
    assert cells.count(cell(*range(10)), made) == "(10)"
    assert cells.ours(cell(1.0), column()) == "1.0"
    assert cells.ours(Cell({0: 1.0}, over_tasks=9.7), column()) == "1.0 / 9.7"
    assert cells.headed(column(TOTAL)) == "whole run (s)"


def test_a_missing_cell_is_shown_as_missing() -> None:
    found = table({"a": [cell(paper=Published(1.0, None))]})
    missing = found.lines[0].cells[0]
    assert (cells.ours(missing, column()), cells.count(missing, found)) == ("–", "")
    assert missing.difference is None
    assert "–: missing" in cells.legend(found)
