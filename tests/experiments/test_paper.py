"""The paper's tables and figures as runs: how many, and exactly which."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bison_ocl.data import load
from bison_ocl.experiments.plan.paper import C10, C100, COMPARED, ITEMS, MINI, Cell
from bison_ocl.experiments.plan.plan import Plan, plan
from bison_ocl.experiments.plan.units import jobs, specs
from bison_ocl.methods import METHODS
from bison_ocl.methods.settings import configured
from bison_ocl.report.study import paper
from bison_ocl.stream.streams import canonical

RUNS = {
    "table1": 1380,
    "ablation": 70,
    "ncm": 180,
    "directions": 100,
    "time": 42,
    "confusion": 9,
    "similar-pairs": 9,
    "curves": 480,
    "balance": 630,
    "sensitivity": 500,
    "feature-enhancement": 150,
    "buffer-batch": 50,
    "efficiency": 4,
    "beyond": 315,
}


def identities(found: Plan) -> set[str]:
    """Names of all runs of a plan."""
    return {spec.name for job in jobs(found, Path()) for spec in specs(job)}


def test_every_item_has_the_runs_of_its_protocol() -> None:
    assert {name: plan(name).runs for name in ITEMS} == RUNS
    for name in ITEMS:
        assert len(identities(plan(name))) == RUNS[name], f"{name} plans a run twice"


def test_table1_holds_every_printed_cell() -> None:
    file = Path(paper.__file__).parent / "paper.json"
    printed = json.loads(file.read_text())["tables"]["table1 AA"]
    cells = {
        (method, data, int(memory))
        for data, sizes in printed.items()
        for memory, methods in sizes.items()
        for method in methods
    }
    assert {(cell.method, cell.data, cell.memory) for cell in plan("table1").cells} == cells
    assert len(cells) == 129


@pytest.mark.parametrize("name", ITEMS)
def test_every_cell_can_be_built(name: str) -> None:
    digits = load("split-digits")  # ten classes, as the shipped order wants
    for cell in plan(name).cells:
        configured(cell.method, cell.data, dict(cell.settings))
        assert canonical(cell.stream, digits) == cell.stream


def test_items_that_report_intransigence_have_a_reference_for_each_dataset() -> None:
    for name, item in ITEMS.items():
        found = plan(name).cells
        references = {cell.data for cell in found if cell.method == "finetune"}
        assert references == ({cell.data for cell in item.cells} if item.intransigence else set())
    reporting = {name for name, item in ITEMS.items() if item.intransigence}
    assert reporting >= {"table1", "ablation", "directions", "balance", "sensitivity"}


def settings(found: Plan, method: str) -> list[dict[str, str]]:
    return [dict(cell.settings) for cell in found.cells if cell.method == method]


def test_the_ablation_takes_parts_away() -> None:
    assert settings(plan("ablation"), "bison") == [
        {},
        {"paf": "off"},
        {"pal": "off"},
        {"pal": "off", "paf": "off"},
        {"dc": "false", "paf": "off"},
        {"dc": "false", "pal": "off", "paf": "off"},
    ]


def test_feature_enhancement_is_large_fixed_and_fifteen_times() -> None:
    found = plan("feature-enhancement")
    assert found.seeds == tuple(range(15))
    assert {cell.stream for cell in found.cells} == {"natural"}
    wanted = {"filters": "64", "buffer_batch": "64"}
    assert all(dict(cell.settings) == wanted for cell in found.cells)
    assert [cell.memory for cell in found.cells if cell.method == "onpro"] == [5000]


def test_the_confusion_study_keeps_similar_classes_apart_and_rescores() -> None:
    found = plan("confusion")
    assert {cell.stream for cell in found.cells} == {"order:confusion"}
    assert {cell.method: cell.also for cell in found.cells} == {
        "er": ("ncm",),
        "ssil": ("ncm",),
        "bison": (),
    }


def test_the_sensitivity_grids_hold_the_best_cells() -> None:
    cells = ITEMS["sensitivity"].cells
    best = {Cell("bison", C10, 200, (("beta", "0.1"), ("lambda", "3.0")))}
    best.add(Cell("bison", MINI, 1000, (("beta", "0.2"), ("lambda", "10.0"))))
    assert best <= set(cells)
    assert [sum(cell.data == data for cell in cells) for data in (C10, MINI)] == [28, 20]


def test_what_items_share_is_the_same_run() -> None:
    main = identities(plan("table1"))
    for name in ("curves", "balance", "ncm"):
        assert identities(plan(name)) <= main
    assert identities(plan("confusion")) == identities(plan("similar-pairs"))
    shared = identities(plan("sensitivity")) & main
    assert len(shared) == 40  # two references and the best cell of each grid


def test_shared_runs_are_scored_by_every_rule_that_any_item_asks_for() -> None:
    asked: dict[str, set[str]] = {}
    for name, item in ITEMS.items():
        if item.alone:
            continue
        for job in jobs(plan(name), Path()):
            for spec in specs(job):
                asked.setdefault(spec.name, set()).add(",".join(job.also))
    assert {len(rules) for rules in asked.values()} == {1}


def test_all_its_methods_are_in_the_package() -> None:
    assert {*COMPARED, "finetune", "onpro"} <= set(METHODS)
    assert {cell.data for item in ITEMS.values() for cell in item.cells} == {C10, C100, MINI}
