"""Every item of the paper from the plan to the report, on a few digits and a tiny backbone."""

from __future__ import annotations

from pathlib import Path

import pytest

from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.experiments.plan.plan import Wanted, plan
from bison_ocl.report.write import write
from tests.digits import few, use
from tests.experiments.inline import SETTINGS, Carried

ONE_EPOCH = {"table1", "time", "curves", "balance"}


def wanted(name: str) -> Wanted:
    """The least of an item that still has all of its rows."""
    cells = plan(name, Wanted(data=["split-digits"])).cells
    rows = {size: sum(cell.memory == size for cell in cells) for size in (100, 200, 500)}
    settings = (*SETTINGS, *((("epochs", "1"),) if name in ONE_EPOCH else ()))
    return Wanted(
        [0], data=["split-digits"], memory=[max(rows, key=rows.__getitem__)], settings=settings
    )


@pytest.mark.slow
def test_every_item_runs_and_comes_out_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, few)
    carried, trained = Carried(tmp_path), 0
    for name in ITEMS:
        asked = plan(name, wanted(name))
        done, failed = carried(asked)
        assert not failed, failed
        assert len(carried.lines(name)) == asked.runs
        trained += sum(len(outcome.records) for outcome in done)
    assert trained < sum(plan(name, wanted(name)).runs for name in ITEMS)  # some are shared
    write(tmp_path)
    said = (tmp_path / "RESULTS.md").read_text()
    for name in ITEMS:
        assert name in said
    assert (tmp_path / "report.html").stat().st_size > 10_000
