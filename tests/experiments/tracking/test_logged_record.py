"""A record as trackers take it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bison_ocl.experiments.records.record import Losses, as_values, from_values
from bison_ocl.experiments.tracking.logged_record import logged_record
from tests.experiments.tracking.example import record


def test_settings_curves_and_figures() -> None:
    logged = logged_record(record())
    assert logged.settings["method"] == "bison"
    assert logged.settings["filters"] == 2
    assert logged.settings["threads"] == 1
    assert logged.curves["loss"][-1][0] == 70
    assert len(logged.curves["loss"]) == len(record().losses.steps)
    assert [task for task, _ in logged.curves["by_task/alpha"]] == [1, 2, 3, 4, 5]
    assert logged.curves["by_task/eta_stream"][4][1] == record().log[4]["eta_stream"]
    assert logged.curves["by_task/accuracy"][-1] == (5, pytest.approx(record().metrics.AA))
    assert logged.curves["accuracy_of_task/04"] == [
        (task, record().accuracy[task - 1][3]) for task in (4, 5)
    ]
    assert logged.finals["final/AA"] == record().metrics.AA
    assert logged.finals["final_ncm/AA"] == record().also["ncm"].metrics.AA
    assert logged.finals["timing/train_s"] > 0
    assert "final/AI" not in logged.finals
    assert json.loads(logged.line) == as_values(record())


def test_a_record_keeps_its_name_and_a_run_done_again_has_another() -> None:
    read_back = from_values(json.loads(json.dumps(as_values(record()))))
    again = replace(record(), timing=replace(record().timing, train_s=1.0))
    assert logged_record(read_back).name == logged_record(record()).name
    assert logged_record(again).name != logged_record(record()).name


def test_the_model_is_found_by_the_name_of_the_run(tmp_path: Path) -> None:
    assert logged_record(record(), tmp_path).model is None
    model = tmp_path / f"{logged_record(record()).name.rpartition('-')[0]}.safetensors"
    model.write_bytes(b"weights")
    assert logged_record(record(), tmp_path).model == model


def test_losses_that_diverged_and_older_records_without_any() -> None:
    diverged = replace(record(), losses=Losses([1, 2], [2.5, None]))
    assert logged_record(diverged).curves["loss"] == [(1, 2.5)]
    logged = logged_record(replace(record(), losses=None))
    assert "loss" not in logged.curves
    assert logged.settings["precision"] == "fp32"
