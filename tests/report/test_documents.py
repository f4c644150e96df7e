"""Documents say what the records say, and name code that is there."""

from __future__ import annotations

import inspect
import pkgutil
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from benchmarks import digits
from benchmarks.readings import lines
from tools import document_tables, pilot_tables, when_learned

import bison_ocl
from bison_ocl.experiments.plan.paper import C10, C100
from bison_ocl.experiments.records.results import read, read_complete
from bison_ocl.methods import METHODS, method_class
from bison_ocl.methods.method import Method
from bison_ocl.report.study.study import load
from bison_ocl.report.tables.layouts import tables_of
from tests.report.records import records
from tests.report.test_folder import put

PROJECT = Path(__file__).parents[2]


def test_the_readme_shows_every_method_as_the_records_have_it() -> None:
    readme = (PROJECT / "README.md").read_text("utf-8")
    assert document_tables.readme(readme) == readme
    assert readme.count(" / ") >= 16 * 9


def test_the_page_beyond_the_paper_shows_what_the_records_have() -> None:
    page = (PROJECT / "docs/BEYOND.md").read_text("utf-8")
    assert document_tables.beyond(page) == page


def test_the_readings_show_when_tasks_were_learned() -> None:
    page = (PROJECT / "docs/READINGS.md").read_text("utf-8")
    assert document_tables.readings(page) == page


def test_a_task_is_learned_rises_and_falls() -> None:
    one = next(one for one in records("table1", 1) if one.method == "pcr" and one.memory == 200)
    rising = replace(one, accuracy=[[0.5, 0.0], [0.7, 0.3]])
    falling = replace(one, accuracy=[[0.9, 0.0], [0.1, 0.5]])
    ours = when_learned.ours([rising, falling], "pcr", C10, 200)
    assert ours == when_learned.Stages(pytest.approx(55), pytest.approx(60), pytest.approx(40))
    assert when_learned.ours([rising], "pcr", C10, 500) is None
    paper = when_learned.papers("pcr", C10, 200)  # FINE-TUNE: 17.4 + 68.6; AI: 21.9
    assert paper == when_learned.Stages(pytest.approx(64.1), pytest.approx(68.0), 50.6)


def test_the_page_beyond_the_paper_is_filled_from_records(tmp_path: Path) -> None:
    page = (PROJECT / "docs/BEYOND.md").read_text("utf-8")
    found = [one for one in records("beyond", 2) if one.data == C10]
    put(tmp_path / "beyond", *found)
    lines = document_tables.beyond(page, tmp_path).splitlines()
    bison = [line.split(" | ") for line in lines if line.startswith("| **BISON** |")]
    values = [100 * one.metrics.AA for one in found if (one.method, one.memory) == ("bison", 200)]
    assert bison[0][1] == f"{sum(values) / 2:.1f} (2)"
    assert bison[0][4] == "–"  # CIFAR-100 was not run
    readouts = ("", " + averaged", " + averaged LD", " + averaged LD (mirror)")
    for name in (f"ER-ACE{readout}" for readout in readouts):
        assert any(line.startswith(f"| {name} |") for line in lines)
    (ablated,) = [line for line in lines if line.startswith("| mirror images |")]
    assert ablated.endswith("(3 cells) |")


def test_ideas_are_compared_with_bison_ald_on_the_same_streams() -> None:
    def pilot(method: str, memory: int, seed: int, aa: float) -> dict[str, Any]:
        by_rule = {"ld-mirror": aa, "ld-centred-crop": aa + 1}
        return {"method": method, "data": C10, "memory": memory, "seed": seed, "AA": by_rule}

    ours = [pilot("bison-ald", memory, seed, 60 + seed) for memory in (200, 500) for seed in (0, 1)]
    others = [pilot("ideas.py:Mixed", 500, seed, 58.5 + 2 * seed) for seed in (0, 1, 2)]
    before, after = ({"ld-mirror": 50 + aa, "ld-centred-crop": 52 - aa} for aa in (0, 1))
    review = {"data": C10, "memory": 200, "AA by steps": {"0": before, "250": after}}
    lines = pilot_tables.ideas([*ours, *others], [review]).splitlines()
    assert lines[0] == "| idea | C10 0.2k | C10 0.5k |"
    assert lines[2:] == [
        "| Mixed | – | -1.0 / -1.0 (2) |",
        "| Reviewed | +1.0 / -1.0 (1) | – |",
    ]
    assert pilot_tables.ideas(ours, []) == pilot_tables.NOT_RUN


def test_what_the_readme_says_of_nearness_is_what_the_results_say() -> None:
    readme = " ".join((PROJECT / "README.md").read_text("utf-8").split())
    results = (PROJECT / "docs/RESULTS.md").read_text("utf-8")
    near = re.search(r"\| AA \| CIFAR \| (\d+) .* (\d+) of \1 \|", results)
    assert near is not None
    assert f"{near[2]} of the {near[1]} CIFAR cells lie within three points or two" in readme
    near = re.search(r"\| AA \| Mini-ImageNet \| (\d+) .* (\d+) \| \d+ \| \2 of \1 \|", results)
    assert near is not None
    assert f"so do {near[2]} of the {near[1]} Mini-ImageNet cells run so far" in readme
    assert "It is first in 6 of 9 cells, in 3 of them significantly." in results
    assert "| C10 0.2k | 1 of 14 | LODE | ER-ACE, LODE |" in results
    for memory in ("0.5k", "1k"):
        assert f"| C10 {memory} | 1 of 14 | LODE | LODE |" in results
    for behind in ("1k | 2 of 10", "2k | 2 of 10", "5k | 2 of 8"):
        assert f"| Mini {behind} | PCR | – | all | -1." in results
    assert "OCM is ahead of BISON in 3 of 6 cells" in results
    assert "| LODE | 8 | +1.8 | -0.0 | 4 | 5 of 6 |" in results


def test_what_the_readings_say_of_directions_is_what_the_records_say() -> None:
    (table,) = tables_of("directions", load(PROJECT / "results/directions").items["directions"])
    found = {
        (column.place.data, column.measure.name, row.label.text): list(cell.values.values())
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
    }
    own, variants = "(bs, sb)", ["(bs, bs)", "(sb, sb)", "(sb, bs)"]

    def leads(data: str, measure: str, variant: str) -> list[float]:
        both = zip(found[data, measure, own], found[data, measure, variant], strict=True)
        return [mine - other for mine, other in both]

    for variant in variants:
        for data in (C10, C100):
            assert len(found[data, "AA", variant]) == 3
            assert min(leads(data, "AI", variant)) > 0
            assert max(leads(data, "AF_table", variant)) < 0
    lost = [*leads(C10, "AA", "(sb, sb)"), *leads(C10, "AA", "(sb, bs)")]
    mean = {
        data: [f"{fmean(found[data, 'AA', one]):.1f}" for one in (own, *variants)]
        for data in (C10, C100)
    }
    page = " ".join((PROJECT / "docs/READINGS.md").read_text("utf-8").split())
    assert "more than 4 points on average ({2} and {3}, BISON {0})".format(*mean[C10]) in page
    assert min(fmean(lost[:3]), fmean(lost[3:])) > 4
    assert f"and {min(lost):.1f} to {max(lost):.1f} on single seeds" in page
    assert "turning the alignment around costs nothing ({1})".format(*mean[C10]) in page
    named = (
        f"BISON has {{}}; {variants[0]}, {variants[1]} and {variants[2]} have {{}}, {{}} and {{}}."
    )
    assert named.format(*mean[C100]) in page


def test_what_the_readings_say_of_the_parts_is_what_the_records_say() -> None:
    (table,) = tables_of("ablation", load(PROJECT / "results/ablation").items["ablation"])
    number = next(n for n, one in enumerate(table.columns) if one.measure.name == "AA")
    found = {row.label.text: list(row.cells[number].values.values()) for row in table.rows}
    whole, no_paf, no_pal, none = (found[one] for one in ("BISON", "w/o PAF", "w/o PAL", "w/o all"))
    (gain,) = {f"{mine - other:.1f}" for mine, other in zip(whole, no_paf, strict=True)}
    own, less, nothing = (f"{fmean(one):.1f}" for one in (whole, no_paf, none))
    page = " ".join((PROJECT / "docs/READINGS.md").read_text("utf-8").split())
    assert f"helps, by {gain} points on each of the two seeds: AA is {own} with all parts" in page
    assert f"with all parts and {less} without it" in page
    assert f"without it AA is {fmean(no_pal):.1f}, on one seed higher" in page
    assert min(no_pal[0] - whole[0], whole[1] - no_pal[1]) > 0
    assert f"bring {fmean(whole) - fmean(none):.1f} points: {nothing} without them." in page
    er = [
        100 * one.also["ncm"].metrics.AA
        for one in read(PROJECT / "results/table1/results.jsonl")
        if (one.method, one.data, one.memory) == ("er", C100, 1000)
    ]
    assert len(er) == 10
    assert f"its ten seeds of the main table have {fmean(er):.1f}." in page


def test_the_table_of_readings_is_that_of_the_pilots() -> None:
    pilots = PROJECT / "results" / "pilots"
    files = [pilots / "readings.jsonl", pilots / "bison-m1000-precision.jsonl"]
    table = "\n".join(lines([record for file in files for record in read_complete(file)]))
    assert table in (PROJECT / "docs/READINGS.md").read_text("utf-8")


def test_the_page_of_digits_is_that_of_the_records(tmp_path: Path) -> None:
    page = tmp_path / "DIGITS.md"
    digits.write(read(PROJECT / "results/digits/results.jsonl"), page)
    assert page.read_text("utf-8") == (PROJECT / "docs/DIGITS.md").read_text("utf-8")


def images(found: type[Method]) -> str:
    """Images through the network in a step, as docs/METHODS.md counts them."""
    scored = f" + {sum(found.scored)}" if found.scored else ""
    at_test = f"; {found.learned_at_test}·M before a test" if found.learned_at_test else ""
    return f"{sum(found.learned)}{scored}{at_test}"


@pytest.mark.parametrize("name", METHODS)
def test_the_page_of_methods_says_what_the_classes_say(name: str) -> None:
    page = (PROJECT / "docs/METHODS.md").read_text("utf-8").splitlines()
    (row,) = [line.split(" | ") for line in page if line.startswith(f"| `{name}` |")]
    found = method_class(name)
    _, _, _, kind, ends, _, counted = row
    assert kind == (found.kind or "–")
    assert ends.split()[0] == ("yes" if found.boundaries else "no")
    assert counted.removesuffix(" |") == images(found)


def attributes() -> set[str]:
    """`Class.name` for all classes of the package."""
    modules = [module.name for module in pkgutil.walk_packages(bison_ocl.__path__, "bison_ocl.")]
    anywhere = [import_module(name) for name in modules if not name.endswith("_kernels")]
    classes = {one for module in anywhere for _, one in inspect.getmembers(module, inspect.isclass)}
    return {
        f"{one.__name__}.{name}"
        for one in classes
        for name in (*dir(one), *inspect.get_annotations(one))
    }


def test_documents_name_code_that_is_there() -> None:
    known = attributes()
    for document in (*PROJECT.glob("*.md"), *(PROJECT / "docs").glob("*.md")):
        named = re.findall(r"`([A-Z]\w+\.[a-z]\w*)`", document.read_text("utf-8"))
        assert {name for name in named if not name.endswith(".md")} <= known, document
