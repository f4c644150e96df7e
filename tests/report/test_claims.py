"""How near the paper a table is, and what it says of the paper's claims."""

from __future__ import annotations

import math

import pytest

from bison_ocl.experiments.plan.paper import C10, MINI
from bison_ocl.report.formats.claims import (
    by_class_means,
    claims,
    class_means,
    counts,
    distances,
    first_places,
    other_readings,
    outliers,
)
from bison_ocl.report.study.experiments import experiments
from bison_ocl.report.study.labels import method_label
from bison_ocl.report.study.measures import AA, AI, Measure
from bison_ocl.report.study.paper import Published
from bison_ocl.report.study.study import Study
from bison_ocl.report.tables.layouts import tables_of
from bison_ocl.report.tables.marks import marked
from bison_ocl.report.tables.table import Column, Comparison, Label, Row, Table
from tests.report.studies import study

BY_POSITION = Label("OCM (old_logits=position)", printed="ocm", reading=True)


def cell(*values: float, paper: float = 50.0, std: float | None = 1.0) -> Comparison:
    return Comparison(dict(enumerate(values)), Published(paper, std))


def table(lines: dict[Label, list[Comparison]], measure: Measure = AA, data: str = C10) -> Table:
    columns = [
        Column((data, "{}", "class-incremental", memory), data, f"M = {memory}", measure)
        for memory in (200, 500)[: len(next(iter(lines.values())))]
    ]
    made = tuple(Row(label, tuple(cells)) for label, cells in lines.items())
    return Table("made-up", "made up", tuple(columns), made)


def test_the_error_is_that_of_a_difference_of_two_means() -> None:
    (found,) = distances(table({method_label("er"): [cell(52, 54, std=3.0)]}))
    assert found.difference == pytest.approx(3.0)
    assert found.error == pytest.approx(math.sqrt(2 / 2 + 9 / 10))


def test_the_papers_deviation_of_ai_is_over_tasks_and_does_not_count() -> None:
    (found,) = distances(table({method_label("er"): [cell(52, 54, std=30.0)]}, AI))
    assert found.error == pytest.approx(math.sqrt(2 / 2 + 2 / 10))


def test_a_cell_is_far_only_beyond_three_points_and_two_errors() -> None:
    cells = [cell(54.0, 54.1, 54.2, std=0.1), cell(40, 54, 68, std=0.1)]
    sure, wide = distances(table({method_label("er"): cells}))
    assert sure.far
    assert abs(wide.difference) > 3
    assert not wide.far
    assert "ER, split-cifar10, M = 200: +4.1" in str(sure)


def test_finetune_counts_once_and_ocm_by_position() -> None:
    lines = {
        method_label("finetune"): [cell(50), cell(50)],
        method_label("ocm"): [cell(60), cell(60)],
        BY_POSITION: [cell(51), Comparison(paper=Published(50, 1))],
    }
    found = list(distances(table(lines)))
    assert [one.row.label.text for one in found] == ["FINE-TUNE", BY_POSITION.text]


def test_cells_are_counted_by_dataset_and_distance() -> None:
    near = list(distances(table({method_label("er"): [cell(50.5, 50.7), cell(52.4, 52.6)]})))
    mini = list(distances(table({method_label("er"): [cell(54.0, 54.1)]}, data=MINI)))
    text = counts({"AA": [*near, *mini]})
    assert "| AA | CIFAR | 2 | 1 | 1 | 2 | 1 | 2 of 2 |" in text
    assert "| AA | Mini-ImageNet | 1 | 0 | 0 | 0 | 0 | 0 of 1 |" in text
    assert "- AA: ER, split-miniimagenet, M = 200: +4.0" in outliers({"AA": mini})[0]
    assert outliers({"AA": near}) == []


def test_the_best_is_named_where_it_is_another() -> None:
    ours = {method_label("bison"): [cell(*range(50, 60)), cell(*range(50, 60))]}
    others = {method_label("er"): [cell(*range(40, 50)), cell(*range(60, 70))]}
    text = first_places("", marked(table(ours | others)))
    assert "First in 1 of 2 cells; in 1 of them significantly ahead" in text
    assert "- split-cifar10, M = 500: behind ER by 10.0 points (n = 10)" in text


def test_methods_are_compared_on_the_seeds_that_both_have() -> None:
    """BISON's mean is higher because of seeds that ER does not have."""
    ours = {method_label("bison"): [cell(50, 51, 90, 90)]}
    text = first_places("", marked(table(ours | {method_label("er"): [cell(52, 52)]})))
    assert "First in 0 of 1 cells" in text
    assert "behind ER by 1.5 points (n = 2), too few common seeds for a test against ER" in text


def test_a_lead_by_luck_is_no_lead() -> None:
    ours = {method_label("bison"): [cell(50, 60, 70)]}
    text = first_places("", marked(table(ours | {method_label("er"): [cell(69, 49, 59)]})))
    assert "in 0 of them significantly ahead" in text
    assert "first, too few common seeds for a test against ER" in text
    ours = {method_label("bison"): [cell(*range(50, 58))]}
    text = first_places(
        "", marked(table(ours | {method_label("er"): [cell(*range(57, 49, -1), 49)]}))
    )
    assert "first, not significantly ahead of ER" in text


def test_methods_of_few_seeds_do_not_hide_a_lead() -> None:
    """Five seeds cannot be significant: they are named, and correct no other test."""
    ours = {method_label("bison"): [cell(*range(50, 56))]}
    others = {method_label("er"): [cell(*range(40, 46))], method_label("gss"): [cell(10, 11, 12)]}
    text = first_places("", marked(table(ours | others)))
    assert "First in 1 of 1 cells; in 1 of them significantly ahead" in text
    assert "first, too few common seeds for a test against GSS" in text


def test_class_means_are_compared_run_by_run() -> None:
    text = by_class_means(experiments("table1", study("table1", seeds=2).items["table1"]))
    assert "| ER | 9 |" in text
    assert "| SCR |" not in text
    assert "| BISON |" not in text
    lines = text.splitlines()
    for ocm in ("OCM", "OCM (old_logits=position)"):  # both readings
        assert sum(line.startswith(f"| {ocm} | 9 |") for line in lines) == 1


def test_class_means_meet_bison_on_the_seeds_that_both_have() -> None:
    """BISON's mean is higher because of seeds that the other does not have."""
    main = {seed: 50.0 + 9 * (seed > 5) for seed in range(10)}
    means, own = dict.fromkeys(range(5), 51.0), dict.fromkeys(range(5), 49.0)
    assert class_means([(own, means, main)]) == (1, "+2.0", "-1.0", 1, "0 of 0")
    means, own = dict.fromkeys(range(6), 48.0), dict.fromkeys(range(6), 49.0)
    assert class_means([(own, means, main)]) == (1, "-1.0", "+2.0", 0, "1 of 1")


def test_a_study_without_the_main_table_has_no_summary() -> None:
    found = study("demo")
    assert claims(found, {"demo": tables_of("demo", found.items["demo"])}) == []


def test_what_was_not_run_is_said() -> None:
    found = study("table1", seeds=2)
    text = "\n".join(claims(found, {"table1": tables_of("table1", found.items["table1"])}))
    assert "The ablation was not run." in text
    both = Study(found.items | study("ablation").items, [])
    made = {item: tables_of(item, records) for item, records in both.items.items()}
    assert "- w/o PAL: AA" in "\n".join(claims(both, made))


def test_the_reading_that_is_not_compared_with_the_paper_is_no_rival_but_named() -> None:
    lines = {
        method_label("bison"): [cell(50, 52, 99), cell(60, 62)],
        method_label("ocm"): [cell(55, 57), cell(58, 59)],
        BY_POSITION: [cell(41, 42), cell(46, 47)],
    }
    made = table(lines)
    assert "First in 2 of 2 cells" in first_places("Best?", made)
    (sentence,) = other_readings(made)
    assert "OCM is ahead of BISON in 1 of 2 cells" in sentence
    assert "M = 200: by 5.0 points (n = 2)" in sentence  # BISON's third seed has no partner
    assert "M = 500" not in sentence


def test_the_other_reading_is_named_where_its_balance_is_better() -> None:
    found = study("table1", seeds=2)
    text = "\n".join(claims(found, {"table1": tables_of("table1", found.items["table1"])}))
    _, balance = text.split("**Is its balance")
    assert "By its other reading (READINGS.md) OCM is ahead of BISON in" in balance


def test_the_other_reading_is_not_named_where_it_was_not_run() -> None:
    lines = {method_label("bison"): [cell(50)], BY_POSITION: [cell(41)]}
    assert other_readings(table(lines)) == []
