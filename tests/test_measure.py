"""Entries of benchmarks.measure name the cells to run, and nothing else is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.measure import Pool, described


@pytest.mark.parametrize(
    ("entry", "units"),
    [
        ("ocm:0-4:split-cifar10:500:old_logits=position", ["ocm old_logits=position"]),
        ("ocm:0-4:split-cifar10:500:old_logits=", ["ocm"]),
        ("ocm:0-4:split-cifar10:500", ["ocm", "ocm old_logits=position"]),
        ("er,pcr:0-4:split-cifar10:500", ["er", "pcr"]),
    ],
)
def test_an_entry_names_its_units(entry: str, units: list[str], tmp_path: Path) -> None:
    pool = Pool([f"table1:{entry}"], tmp_path, device="cpu", precision="fp32")
    cells = [f"{unit} split-cifar10 500 (5 seeds)" for unit in units]
    assert [described(unit) for unit in pool.todo] == cells


def test_an_entry_leaves_out_what_an_earlier_one_has(tmp_path: Path) -> None:
    entries = ["table1:er:0-4:split-cifar10:500", "table1:er:0-4:split-cifar10:200,500"]
    pool = Pool(entries, tmp_path, device="cpu", precision="fp32")
    assert [unit.memory for unit in pool.todo] == [500, 200]
