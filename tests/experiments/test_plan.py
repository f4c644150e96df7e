"""Items narrowed, moved to other data and given settings."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bison_ocl.errors import UserError
from bison_ocl.experiments.plan.paper import C10, ITEMS, MINI, Cell
from bison_ocl.experiments.plan.plan import Plan, Wanted, named, plan, plans


def places(found: Plan) -> set[tuple[str, str, int]]:
    return {(cell.method, cell.data, cell.memory) for cell in found.cells}


def test_nothing_heavy_is_imported_for_a_plan() -> None:
    code = "from bison_ocl.experiments.plan.plan import plan; plan('table1'); import sys; "
    code += "sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_all_is_every_item_and_each_is_taken_once() -> None:
    papers = [name for name in ITEMS if name != "beyond"]
    assert named(["ncm", "all"]) == papers
    assert named(["beyond", "all"]) == [*papers, "beyond"]
    assert named(["ncm", "time", "ncm"]) == ["ncm", "time"]


def test_narrowed_plans_keep_their_references() -> None:
    wanted = Wanted(seeds=[3, 4], methods=["bison"], data=[C10], memory=[500])
    found = plan("table1", wanted)
    assert places(found) == {("finetune", C10, 0), ("bison", C10, 500)}
    assert found.runs == 4
    assert found.cells[0].method == "finetune"  # the others' AI needs it


def test_references_alone_can_be_asked_for() -> None:
    assert {cell.method for cell in plan("table1", Wanted(methods=["finetune"])).cells} == {
        "finetune"
    }


def test_an_item_moves_to_other_data_with_its_memory_sizes_by_rank() -> None:
    found = plan("directions", Wanted(data=["split-digits"]))
    assert {cell.memory for cell in found.cells if cell.method == "bison"} == {100, 200}
    assert places(plan("time", Wanted(data=["folder:cows"]))) >= {("er", "folder:cows", 1000)}


def test_moved_cells_that_fall_together_are_one_with_all_rules() -> None:
    found = plan("table1", Wanted(data=["split-digits"], memory=[100]))
    assert found.runs == 160
    (er,) = (cell for cell in found.cells if cell.method == "er")
    assert er.also == ("ncm",)


def test_own_and_other_data_can_be_asked_for_together() -> None:
    found = plan("ablation", Wanted(data=[MINI, "split-digits"]))
    assert len(found.cells) == 14


def test_settings_go_to_the_methods_that_read_them_and_win() -> None:
    found = plan("feature-enhancement", Wanted(settings=(("filters", "4"), ("beta", "0.3"))))
    by_method = {cell.method: dict(cell.settings) for cell in found.cells}
    assert by_method["bison"] == {"filters": "4", "buffer_batch": "64", "beta": "0.3"}
    assert by_method["scr"] == {"filters": "4", "buffer_batch": "64"}


def test_settings_that_a_method_ignores_are_not_given_to_it() -> None:
    found = plan("table1", Wanted(methods=["er"], data=[C10], settings=(("joint", "true"),)))
    assert Cell("finetune", C10, 0) in found.cells
    assert Cell("er", C10, 200, (("joint", "true"),), also=("ncm",)) in found.cells


def test_of_several_items_each_gives_what_it_has() -> None:
    some = plans(["ablation", "time", "ncm"], Wanted(methods=["er", "bison"], memory=[1000]))
    assert {one.name: {cell.method for cell in one.cells} for one in some} == {
        "ablation": {"finetune", "bison"},
        "time": {"er", "bison"},
        "ncm": {"er", "bison"},
    }
    assert [one.name for one in plans(["ablation", "time"], Wanted(methods=["er"]))] == ["time"]
    assert [one.name for one in plans(["ablation", "ncm"], Wanted(memory=[5000]))] == ["ncm"]
    assert plans(["ablation", "time"]) == [plan("ablation"), plan("time")]
    assert plans(["time"], Wanted(methods=["er"])) == [plan("time", Wanted(methods=["er"]))]


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (
            Wanted(methods=["er", "bisson"]),
            "unknown method 'bisson' of the plan: did you mean 'bison'",
        ),
        (Wanted(memory=[7]), "the plan has no memory size 7 here: choose from 1000"),
        (Wanted(methods=["gss"], memory=[5000]), "the plan has no cell for this combination"),
    ],
)
def test_what_none_of_several_items_holds_is_refused(wanted: Wanted, why: str) -> None:
    with pytest.raises(UserError, match=why):
        plans(["time", "ncm"], wanted)


@pytest.mark.parametrize(
    ("name", "wanted", "why"),
    [
        ("tabel1", Wanted(), "did you mean 'table1'"),
        ("ablation", Wanted(methods=["er"]), "unknown method 'er' of ablation"),
        ("table1", Wanted(methods=["bisson"]), "did you mean 'bison'"),
        ("table1", Wanted(memory=[7]), "no memory size 7 here: choose from 200, 500, 1000"),
        ("table1", Wanted(data=["split-digit"]), "did you mean 'split-digits'"),
        ("table1", Wanted(settings=(("filter", "4"),)), "did you mean 'filters'"),
        (
            "ablation",
            Wanted(settings=(("beta", "much"),)),
            "bison: beta=much: expected a finite",
        ),
        ("table1", Wanted(settings=(("joint", "true"),)), "mir: joint=true: the stream's pass"),
        (
            "beyond",
            Wanted(methods=["er"], settings=(("average", "0"),)),
            "er: --also averaged needs averaged weights",
        ),
        ("feature-enhancement", Wanted(methods=["onpro"], memory=[1000]), "has no cell"),
    ],
)
def test_what_an_item_does_not_hold_is_refused(name: str, wanted: Wanted, why: str) -> None:
    with pytest.raises(UserError, match=why):
        plan(name, wanted)
