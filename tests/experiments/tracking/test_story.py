"""A record as trackers take it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bison_ocl.experiments.records.record import Losses, as_values, from_values
from bison_ocl.experiments.tracking.story import story_of
from tests.experiments.tracking.example import record


def test_settings_curves_and_figures() -> None:
    story = story_of(record())
    assert story.settings["method"] == "bison"
    assert story.settings["filters"] == 2
    assert story.settings["threads"] == 1
    assert story.curves["loss"][-1][0] == 70
    assert len(story.curves["loss"]) == len(record().losses.steps)
    assert [task for task, _ in story.curves["by_task/alpha"]] == [1, 2, 3, 4, 5]
    assert story.curves["by_task/eta_stream"][4][1] == record().log[4]["eta_stream"]
    assert story.curves["by_task/accuracy"][-1] == (5, pytest.approx(record().metrics.AA))
    assert story.curves["accuracy_of_task/04"] == [
        (task, record().accuracy[task - 1][3]) for task in (4, 5)
    ]
    assert story.finals["final/AA"] == record().metrics.AA
    assert story.finals["final_ncm/AA"] == record().also["ncm"].metrics.AA
    assert story.finals["timing/train_s"] > 0
    assert "final/AI" not in story.finals
    assert json.loads(story.line) == as_values(record())


def test_a_record_keeps_its_name_and_a_run_done_again_has_another() -> None:
    read_back = from_values(json.loads(json.dumps(as_values(record()))))
    again = replace(record(), timing=replace(record().timing, train_s=1.0))
    assert story_of(read_back).name == story_of(record()).name
    assert story_of(again).name != story_of(record()).name


def test_the_model_is_found_by_the_name_of_the_run(tmp_path: Path) -> None:
    assert story_of(record(), tmp_path).model is None
    model = tmp_path / f"{story_of(record()).name.rpartition('-')[0]}.safetensors"
    model.write_bytes(b"weights")
    assert story_of(record(), tmp_path).model == model


def test_losses_that_diverged_and_older_records_without_any() -> None:
    diverged = replace(record(), losses=Losses([1, 2], [2.5, None]))
    assert story_of(diverged).curves["loss"] == [(1, 2.5)]
    story = story_of(replace(record(), losses=None))
    assert "loss" not in story.curves
    assert story.settings["precision"] == "fp32"
