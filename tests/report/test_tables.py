"""Tables: mean ± std over seeds, how many, and AI only against the run on the same stream."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bison_ocl.experiments.records.record import Scores
from bison_ocl.experiments.train.result import metrics_of
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.intransigence import with_intransigence
from bison_ocl.report.tables.overview import percent, rows, show
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


def test_mean_and_sample_deviation_over_seeds() -> None:
    (row,) = rows([record("er", GOOD, 0), record("er", BETTER, 1)])
    assert (row.method, row.data, row.memory) == ("er", "split-digits", 100)
    assert row.AA.n == 2
    assert row.AA.mean == pytest.approx(0.75)
    assert row.AA.std == pytest.approx(np.std([0.75, 0.75], ddof=1))
    assert row.AF.mean == pytest.approx(0.15)
    assert row.AF.std == pytest.approx(0.1 / np.sqrt(2))
    assert row.AF_table.mean == pytest.approx(0.075)


def test_what_differs_has_a_row_of_its_own_in_order_of_appearance() -> None:
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
    assert [(row.method, row.AA.n) for row in found] == [
        ("er", 2),
        ("bison", 1),
        ("er", 1),
        ("er", 1),
        ("er", 1),
    ]


# --- intransigence ---


def test_ai_is_the_reference_just_after_each_task_less_the_runs() -> None:
    found = rows([record("finetune", FORGOT), record("er", GOOD)])
    assert found[0].AI is not None
    assert found[0].AI.mean == 0
    assert found[1].AI is not None
    assert found[1].AI.mean == pytest.approx(((0.8 - 0.9) + (1.0 - 0.8)) / 2)


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


def test_a_row_has_ai_only_if_every_seed_has() -> None:
    found = rows([record("er", GOOD, 0), record("er", GOOD, 1), record("finetune", FORGOT, 0)])
    assert found[0].AI is None


def test_records_are_not_changed() -> None:
    original = [record("er", GOOD), record("finetune", FORGOT)]
    rows(original)
    assert original == [record("er", GOOD), record("finetune", FORGOT)]


# --- what is printed ---


def test_percent() -> None:
    assert percent(0.8123, 0.0134) == "81.2 ± 1.3"
    assert percent(0.8123, None) == "81.2"
    assert percent(-0.05, 0.0) == "-5.0 ± 0.0"


def printed(records: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    show(rows(records))
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_the_table_holds_the_records_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    head, *lines = printed(
        [
            record("finetune", FORGOT, 0),
            record("er", GOOD, 0),
            record("er", BETTER, 1),
        ],
        capsys,
    )
    assert " ".join(head) == "method data memory AA % AF % AF_table % AI % / tasks n"
    assert " ".join(lines[0]) == "finetune split-digits 0 50.0 80.0 40.0 0.0 / 0.0 1"
    assert " ".join(lines[1]) == "er split-digits 100 75.0 ± 0.0 15.0 ± 7.1 7.5 ± 3.5 – 2"


def test_names_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    name = "folder:/data/[red]/:bison:/[/x]"
    _, line = printed([record("er", GOOD, data=name)], capsys)
    assert line[1] == name


def test_a_narrow_pipe_does_not_cut_the_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    lines = printed([record("er", GOOD)], capsys)
    assert len(lines) == 2
    assert lines[1][-1] == "1"


def test_another_rule_on_the_same_network_has_a_row_of_its_own() -> None:
    other = Scores(BETTER, metrics_of(BETTER))
    found = rows([record("er", GOOD, also={"ncm": other}), record("finetune", FORGOT)])
    assert [row.method for row in found] == ["er", "er + ncm", "finetune"]
    assert found[1].AA.mean == pytest.approx(metrics_of(BETTER).AA)
    assert found[1].AI is not None
    assert found[1].AI.mean == pytest.approx((0.8 - 1.0 + 1.0 - 0.6) / 2)


def test_of_a_run_done_twice_the_later_record_counts() -> None:
    (row,) = rows([record("er", GOOD), record("er", BETTER)])
    assert (row.AA.n, row.AF.mean) == (1, pytest.approx(0.1))


def test_references_may_stand_beside_the_records() -> None:
    (row,) = rows([record("er", GOOD)], beside=[record("finetune", FORGOT)])
    assert row.AI is not None
    assert row.AI.mean == pytest.approx((0.8 - 0.9 + 1.0 - 0.8) / 2)
