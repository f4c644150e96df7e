"""Ranks and tests of a table: ties, missing cells, references, common seeds."""

from __future__ import annotations

import numpy as np
import pytest

from bison_ocl.report.study.measures import AA, AF, Measure
from bison_ocl.report.study.significance import holm, sign_flip
from bison_ocl.report.tables.marks import against, least_seeds, marked
from bison_ocl.report.tables.table import Comparison, Table
from tests.report.by_hand import cell, column, table


def ranks(found: Table) -> list[list[int]]:
    return [[cell.rank for cell in line.cells] for line in found.rows]


# --- best and runner-up ---


@pytest.mark.parametrize(("measure", "expected"), [(AA, [0, 2, 1]), (AF, [1, 2, 0])])
def test_best_and_runner_up(measure: Measure, expected: list[int]) -> None:
    lines = {"a": [cell(1.0)], "b": [cell(2.0)], "c": [cell(3.0)]}
    assert ranks(marked(table(lines, [column(measure)]))) == [[rank] for rank in expected]


def test_equal_ones_share_a_rank_and_missing_ones_have_none() -> None:
    lines = {"a": [cell(3.0)], "b": [cell(3.0)], "c": [cell(2.0)], "d": [cell()]}
    assert ranks(marked(table(lines))) == [[1], [1], [2], [0]]


def test_sums_in_another_order_are_equal() -> None:
    lines = {"a": [cell(0.1, 0.2, 0.3)], "b": [cell(0.3, 0.2, 0.1)], "c": [cell(0.0)]}
    assert ranks(marked(table(lines))) == [[1], [1], [2]]


def test_the_reference_takes_no_rank() -> None:
    lines = {"fine-tune": [cell(9.0)], "a": [cell(3.0)], "b": [cell(2.0)]}
    assert ranks(marked(table(lines, reference="fine-tune"))) == [[0], [1], [2]]


def test_one_line_is_not_the_best_of_anything() -> None:
    assert ranks(marked(table({"a": [cell(3.0)], "b": [cell()]}))) == [[0], [0]]


def test_lines_are_tested_against_the_main_one_over_common_seeds() -> None:
    random = np.random.default_rng(1)
    main, near, far = random.normal(size=8), random.normal(size=8), random.normal(size=8) - 5
    found = marked(
        table(
            {
                "main": [cell(*main)],
                "near": [cell(*near)],
                "far": [Comparison({7: far[7], 9: 1e6, **dict(enumerate(far[:7]))})],
            },
            main="main",
        )
    )
    expected = holm([sign_flip(near, main), sign_flip(far, main)])
    assert found.rows[0].cells[0].p is None
    assert [line.cells[0].p for line in found.rows[1:]] == pytest.approx(expected)
    assert [line.cells[0].differs for line in found.rows] == [False, False, True]


def test_without_a_main_line_the_best_is_tested_against() -> None:
    found = marked(table({"a": [cell(1.0, 2.0)], "b": [cell(3.0, 4.0)]}))
    assert [line.cells[0].p for line in found.rows] == [0.5, None]


def test_no_common_seed_no_test() -> None:
    lines = {"main": [Comparison({0: 1.0})], "a": [Comparison({1: 2.0})]}
    assert marked(table(lines, main="main")).rows[1].cells[0].p is None


def test_tests_can_be_left_out() -> None:
    found = marked(table({"a": [cell(1.0)], "b": [cell(3.0)]}), tested=False)
    assert all(line.cells[0].p is None for line in found.rows)


@pytest.mark.parametrize(("others", "seeds"), [(1, 6), (13, 10)])
def test_how_many_seeds_can_show_a_difference(others: int, seeds: int) -> None:
    lines = {"main": [cell(0.0)]} | {str(i): [cell(1.0)] for i in range(others)}
    assert least_seeds(marked(table(lines, main="main"))) == seeds
    assert holm([2 / 2**seeds] * others)[0] < 0.05 <= holm([2 / 2 ** (seeds - 1)] * others)[0]


def test_seeds_are_counted_for_the_column_with_most_tests() -> None:
    lines = {"main": [cell(0.0)] * 2, "both": [cell(1.0)] * 2}
    lines |= {str(i): [cell(1.0), cell()] for i in range(12)}
    assert least_seeds(marked(table(lines, [column(), column()], main="main"))) == 10


def test_the_reference_is_not_tested_and_costs_the_others_nothing() -> None:
    values = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    lines = {
        "fine-tune": [cell(*values)],
        "main": [cell(*values)],
        "a": [cell(*(1 + value for value in values))],
    }
    found = marked(table(lines, main="main", reference="fine-tune"))
    assert [line.cells[0].p for line in found.rows] == [None, None, 2 / 2**6]


def test_those_without_a_common_run_do_not_count_in_the_correction() -> None:
    main = dict(enumerate(np.arange(7.0)))
    apart, other = {9: 1.0}, {seed: value + 1 for seed, value in main.items()}
    assert against(main, [apart, other]) == [None, 2 / 2**7]
    assert against(main, []) == []
