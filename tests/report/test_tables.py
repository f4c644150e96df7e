"""Tables: mean ± std over seeds, how many, and AI only against the run on the same stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bison_ocl.evaluate.metrics import Spread
from bison_ocl.experiments.records.record import Record, Scores
from bison_ocl.experiments.train.result import metrics_of
from bison_ocl.report.study.entry import Entry, prepared, with_intransigence
from bison_ocl.report.study.measures import plus_minus
from bison_ocl.report.tables.layouts import overview
from bison_ocl.report.tables.table import Comparison
from tests import made_up

GOOD = [[0.9, 0.0], [0.7, 0.8]]
BETTER = [[1.0, 0.0], [0.9, 0.6]]
FORGOT = [[0.8, 0.0], [0.0, 1.0]]


def record(method: str, matrix: list[list[float]], seed: int = 0, **changes: Any) -> Entry:
    usual = {
        "memory": 0 if method == "finetune" else 100,
        "settings": {"lr": 0.1},
        "class_order": [0, 1, 2, 3],
        "accuracy": matrix,
        "metrics": metrics_of(matrix),
    }
    return Entry(**vars(made_up.record(method=method, seed=seed, **usual | changes)))


def rows(records: list[Entry], others: Sequence[Record] = ()) -> dict[str, dict[str, Comparison]]:
    """The cells that were run, by line and place, then by measure."""
    (table,) = overview("mine", prepared(records, others))
    found: dict[str, dict[str, Comparison]] = {}
    for line in table.rows:
        for column, cell in zip(table.columns, line.cells, strict=True):
            if cell.ours:
                name = f"{line.label.text}, {column.block}"
                found.setdefault(name, {})[column.measure.name] = cell
    return found


ER, TUNE = "ER, Split Digits, M = 100", "FINE-TUNE, Split Digits, M = 100"


def mean(cell: Comparison) -> float:
    assert cell.ours is not None
    return cell.ours.mean


def test_mean_and_sample_deviation_over_seeds() -> None:
    (row,) = rows([record("er", GOOD, 0), record("er", BETTER, 1)]).values()
    assert row["AA"].ours == Spread(pytest.approx(75), pytest.approx(0, abs=1e-9), 2)
    assert row["AF"].ours == Spread(pytest.approx(15), pytest.approx(10 / np.sqrt(2)), 2)
    assert mean(row["AF_table"]) == pytest.approx(7.5)


def test_what_differs_has_a_cell_of_its_own() -> None:
    found = rows(
        [
            record("er", GOOD),
            record("bison", GOOD),
            record("er", GOOD, 1),
            record("er", GOOD, settings={"lr": 0.2}),
            record("er", GOOD, memory=50),
            record("er", GOOD, data="other"),
        ]
    )
    counts = {name: len(row["AA"].values) for name, row in found.items()}
    swept = "ER (lr={}), Split Digits, M = 100"  # the usual value is named, too
    assert counts.pop(swept.format(0.1)) == 2
    assert swept.format(0.2) in counts
    assert "ER, Split Digits, M = 50" in counts
    assert len(counts) == 4
    assert set(counts.values()) == {1}


# --- intransigence ---


def test_ai_is_the_reference_just_after_each_task_less_the_runs() -> None:
    found = rows([record("finetune", FORGOT), record("er", GOOD)])
    assert mean(found[TUNE]["AI"]) == 0
    assert mean(found[ER]["AI"]) == pytest.approx(100 * ((0.8 - 0.9) + (1.0 - 0.8)) / 2)


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"class_order": [1, 0, 2, 3]}, {"data": "other"}], ids=str
)
def test_ai_needs_the_same_stream(change: dict[str, Any]) -> None:
    reference, run = with_intransigence(
        [record("finetune", FORGOT), replace(record("er", GOOD), **change)]
    )
    assert reference.metrics.AI == 0
    assert run.metrics.AI is None
    assert run.reference is None


@pytest.mark.parametrize(("there", "found"), [("a", True), (None, True), ("b", False)])
def test_ai_needs_the_same_images_to_learn_from_as_far_as_runs_tell(
    there: str | None, found: bool
) -> None:
    tune, run = record("finetune", FORGOT), record("er", GOOD)
    pair = [replace(tune, train_sha256=there), replace(run, train_sha256="a")]
    assert (with_intransigence(pair)[1].reference is not None) == found


def test_ai_pairs_each_seed_with_its_own_reference() -> None:
    found = with_intransigence(
        [
            record("er", GOOD, 0),
            record("er", GOOD, 1),
            record("finetune", FORGOT, 1),
            record("finetune", BETTER, 0),
        ]
    )
    assert pytest.approx((0.1 - 0.2) / 2) == found[0].metrics.AI
    assert pytest.approx((-0.1 + 0.2) / 2) == found[1].metrics.AI


def test_ai_takes_the_reference_of_the_same_precision_even_if_it_is_older() -> None:
    """A reference from before a setting existed is as near as one that names its default."""
    older = record("finetune", FORGOT, precision="tf32")
    newer = record("finetune", BETTER, precision="fp32", settings={"lr": 0.1, "average": 0.0})
    run = record("er", GOOD, precision="tf32", settings={"lr": 0.1, "average": 0.0})
    assert with_intransigence([older, newer, run])[-1].reference == [0.8, 1.0]


def test_ai_is_of_the_seeds_that_have_it_and_says_how_many() -> None:
    found = rows([record("er", GOOD, 0), record("er", GOOD, 1), record("finetune", FORGOT, 0)])
    assert len(found[ER]["AA"].values) == 2
    assert len(found[ER]["AI"].values) == 1


def test_records_are_not_changed() -> None:
    original = [record("er", GOOD), record("finetune", FORGOT)]
    rows(original)
    assert original == [record("er", GOOD), record("finetune", FORGOT)]


# --- what is printed ---


def test_numbers_as_text() -> None:
    assert plus_minus(81.23, 1.34) == "81.2 ± 1.3"
    assert plus_minus(81.23, None) == "81.2"
    assert plus_minus(-5, 0.0) == "-5.0 ± 0.0"
    assert plus_minus(1_094_750, 0.0, 0) == "1,094,750"  # a count that does not vary
    assert plus_minus(1_094_750, 12.0, 0) == "1,094,750 ± 12"


def test_another_rule_on_the_same_network_has_a_row_of_its_own() -> None:
    other = Scores(BETTER, metrics_of(BETTER))
    found = rows([record("er", GOOD, also={"ncm": other}), record("finetune", FORGOT)])
    rescored = "ER + NCM, Split Digits, M = 100"
    assert list(found) == [TUNE, ER, rescored]
    assert mean(found[rescored]["AA"]) == pytest.approx(100 * metrics_of(BETTER).AA)
    assert mean(found[rescored]["AI"]) == pytest.approx(100 * (0.8 - 1.0 + 1.0 - 0.6) / 2)


def test_of_a_run_done_twice_the_later_record_counts() -> None:
    (row,) = rows([record("er", GOOD), record("er", BETTER)]).values()
    assert row["AF"].ours == Spread(pytest.approx(10), None, 1)


def test_references_may_stand_beside_the_records() -> None:
    (row,) = rows([record("er", GOOD)], others=[record("finetune", FORGOT)]).values()
    assert mean(row["AI"]) == pytest.approx(100 * (0.8 - 0.9 + 1.0 - 0.8) / 2)
