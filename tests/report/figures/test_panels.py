"""Experiments and panels: what is compared with what, and how it is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bison_ocl.experiments.records.record import as_values, from_values
from bison_ocl.report.figures.panels import Panel
from bison_ocl.report.figures.panels import panels as made
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.experiments import experiments
from bison_ocl.report.study.looks import look_of
from tests.report.figures.charted import of, records


def panels(found: Sequence[Entry]) -> list[Panel]:
    return made(experiments("mine", found))


def test_an_experiment_has_its_seeds() -> None:
    groups = experiments("mine", records("balance"))
    # FINE-TUNE at every place; all but SCR and BISON are also scored by class means
    assert len(groups) == 4 + 4 * 15 + 4 * 13
    assert len({group.first.experiment for group in groups}) == len(groups) - 1
    assert {group.n for group in groups} == {2}


def test_records_from_before_there_was_a_precision_are_no_other_experiment() -> None:
    said = [as_values(r) for r in of("demo") if r.seed == 0]
    old = [from_values({k: v for k, v in one.items() if k != "precision"}) for one in said]
    assert len(experiments("mine", [*old, *(r for r in of("demo") if r.seed)])) == 3


def test_finetune_stands_in_every_panel_of_its_stream() -> None:
    found = panels(of("balance"))
    assert [panel.title for panel in found] == [
        "Split CIFAR-100, M = 2k, n = 2",
        "Split CIFAR-10, M = 0.5k, n = 2",
        "Split Mini-ImageNet, M = 1k, n = 2",
        "Split Mini-ImageNet, M = 2k, n = 2",
    ]
    assert all("FINE-TUNE" in [line.title for line in panel.lines] for panel in found)


def test_finetune_alone_has_a_panel() -> None:
    (panel,) = panels(records("demo", method="finetune"))
    assert panel.title.endswith("M = 0, n = 2")


def test_seeds_that_differ_are_said() -> None:
    some = [r for r in of("demo") if r.method != "er" or r.seed == 0]
    (panel,) = panels(some)
    assert panel.title.endswith("n = 1–2")


def test_methods_look_the_same_everywhere_and_variants_differ() -> None:
    lines = {line.title: line for panel in panels(of("ablation")) for line in panel.lines}
    (main,) = [line for line in lines.values() if line.label.main]
    assert main.title == "BISON (dc=true, pal=bs, paf=sb)"
    assert main.look == look_of("bison")
    assert len({line.look for line in lines.values()}) == len(lines) == 7


def test_two_variants_of_a_method_differ_in_lines_without_markers() -> None:
    er = records("demo", method="er")
    both = [replace(r, settings={**r.settings, "lr": lr}) for lr in (0.02, 0.05) for r in er]
    first, second = experiments("mine", both)
    assert first.look.colour == second.look.colour
    assert first.look.dashes != second.look.dashes


def test_a_variant_looks_the_same_in_every_panel() -> None:
    first, second = panels(of("directions"))
    assert {line.title: line.look for line in first.lines} == {
        line.title: line.look for line in second.lines
    }


def test_runs_of_one_name_on_two_machines_are_two_experiments() -> None:
    plain = [replace(r, mixed_precision=True) for r in of("demo")]
    on_cpu = [
        replace(r, precision="fp32", environment=replace(r.environment, device_type="cpu"))
        for r in plain
        if r.method == "er"
    ]
    titles = [one.title for one in experiments("mine", [*plain, *on_cpu])]
    assert titles == ["FINE-TUNE", "ER (tf32)", "BISON", "ER (fp32)"]
