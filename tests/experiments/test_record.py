"""A record as a value, as a line, and as its page describes it."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from bison_ocl.experiments.records.record import (
    SCHEMA,
    Anytime,
    Environment,
    Losses,
    Metrics,
    Record,
    Scores,
    Timing,
    as_values,
    from_values,
)
from bison_ocl.experiments.records.schema import LATER, NEEDED
from bison_ocl.experiments.records.upgrade import upgraded
from tests.made_up import ONE, record

PAGE = Path(__file__).parents[2] / "docs" / "RECORDS.md"
WHOLE = record(
    also={"ncm": Scores([[1.0, 0.0], [0.0, 1.0]], Metrics(0.5, 0.5, 0.25), [[[1, 0], [0, 1]]] * 2)},
    confusion=[[[1, 0], [0, 1]]] * 2,
    class_names=["cat", "dog"],
    parameters=7,
    losses=Losses([1, 2], [0.5, None]),
    anytime=Anytime([1], [0.5]),
    refused_steps=1,
    data_sha256="a",
    train_sha256="b",
    method_title="ER",
    method_source="c",
    method_preset={"lr": 0.1},
    commit="d",
)


@pytest.mark.parametrize("one", [ONE, WHOLE])
def test_a_line_gives_the_record_back(one: Record) -> None:
    assert from_values(json.loads(json.dumps(as_values(one)))) == one


def test_the_example_has_all_that_a_record_may_hold() -> None:
    assert None not in vars(WHOLE).values()


def test_a_missing_field_counts_as_its_default() -> None:
    values = as_values(ONE)
    kept = {name: value for name, value in values.items() if name in {"schema", *NEEDED}}
    assert kept.keys() < values.keys()
    assert from_values(kept) == ONE


def test_a_field_of_another_version_is_ignored() -> None:
    assert from_values(as_values(ONE) | {"weather": "fine"}) == ONE


def test_every_field_is_checked() -> None:
    nested = {"confusion"}  # looked at beside the number of tasks and classes
    assert {field.name for field in fields(Record)} == NEEDED.keys() | LATER.keys() | nested


@pytest.mark.parametrize(
    ("device", "timing", "precision", "kind", "computed"),
    [
        ("AMD EPYC", {}, "tf32", "cpu", "fp32"),
        ("AMD EPYC", {}, None, "cpu", "fp32"),
        ("AMD EPYC", {}, "bf16", "cpu", "bf16"),
        ("NVIDIA H200", {}, None, "cuda", "tf32"),
        ("a GPU", {"peak_MB": 9.0}, "tf32", "cuda", "tf32"),
    ],
)
def test_schema_1_called_float32_on_a_cpu_tf32(
    device: str, timing: dict[str, float], precision: str | None, kind: str, computed: str
) -> None:
    values: dict[str, Any] = as_values(ONE) | {"schema": 1, "precision": precision}
    values["environment"] = {"device": device, "threads": 1}
    values["timing"] = {"train_s": 1.0, "test_s": 1.0, "total_s": 2.0, "ms_per_step": 1.0} | timing
    if precision is None:
        del values["precision"]
    found = from_values(upgraded(values))
    assert (found.environment.device_type, found.precision) == (kind, computed)
    assert upgraded(values)["schema"] == SCHEMA


def test_the_page_describes_every_field() -> None:
    page = PAGE.read_text("utf-8")
    kinds = (Record, Metrics, Scores, Losses, Anytime, Timing, Environment)
    assert all(map(is_dataclass, kinds))
    missing = [f.name for kind in kinds for f in fields(kind) if f"`{f.name}`" not in page]
    assert missing == []
    assert f"`schema` is {SCHEMA}" in page
