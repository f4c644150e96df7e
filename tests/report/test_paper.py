"""The paper's numbers: all there, as printed."""

from __future__ import annotations

import pytest

from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.report.study.paper import Published, lines, numbers, printed, published


def test_the_main_tables_are_whole() -> None:
    for metric in ("AA", "AF_table", "AI"):
        cells = numbers()[f"table1 {metric}"]
        assert sum(len(column) for data in cells.values() for column in data.values()) == 129
    planned = {(cell.method, cell.data, cell.memory) for cell in ITEMS["table1"].cells}
    assert len(planned) == 126
    for cell in planned:
        assert published("table1", "AA", *cell) is not None


@pytest.mark.parametrize(
    ("cell", "mean", "std"),
    [
        (("table1", "AA", "bison", "split-cifar10", 200), 52.5, 0.7),
        (("table1", "AA", "finetune", "split-cifar100", 2000), 5.2, 0.6),
        (("table1", "AF_table", "finetune", "split-cifar10", 0), 68.6, 1.7),
        (("table1", "AI", "gdumb", "split-miniimagenet", 5000), -4.8, 19.5),
        (("ablation", "AF_table", "w/o DC & PAF", "split-miniimagenet", 1000), 7.4, 0.4),
        (("ncm", "AA", "lode + ncm", "split-miniimagenet", 5000), 28.4, 0.7),
        (("feature-enhancement", "AA", "bison", "split-cifar100", 1000), 33.5, 0.9),
        (("efficiency", "parameters", "bison", "split-cifar10", 1000), 1096343, None),
        (("confusion", "ship", "er + ncm", "split-cifar10", 500), 50.8, None),
    ],
)
def test_as_printed(cell: tuple[str, str, str, str, int], mean: float, std: float) -> None:
    assert published(*cell) == Published(mean, std)


def test_what_the_paper_does_not_print() -> None:
    assert published("table1", "AA", "onpro", "split-cifar10", 200) is None
    assert published("table1", "AA", "bison", "split-cifar10", 300) is None
    assert published("table1", "AF", "bison", "split-cifar10", 200) is None
    assert published("mine", "AA", "bison", "split-digits", 100) is None


PLACE = ("split-cifar10", "{}", "class-incremental", 200)


def test_an_item_without_a_table_of_its_own_has_the_main_ones() -> None:
    mini = ("split-miniimagenet", "{}", "class-incremental", 1000)
    assert printed("sensitivity", "AA", "bison", PLACE) == Published(52.5, 0.7)
    assert printed("mine", "AA", "bison", PLACE) == Published(52.5, 0.7)
    assert printed("ablation", "AA", "w/o PAF", mini) == Published(23.4, 0.6)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (None, PLACE),
        ("bison", ("split-cifar10", '{"tasks": 2}', "class-incremental", 200)),
        ("bison", ("split-cifar10", "{}", "iid", 200)),
        ("bison", ("split-digits", "{}", "class-incremental", 200)),
    ],
)
def test_only_the_same_data_and_stream_compare(
    line: str | None, place: tuple[str, str, str, int]
) -> None:
    assert printed("table1", "AA", line, place) is None


def test_fine_tuning_forgets_what_it_learned() -> None:
    """AA + AF_table of FINE-TUNE is what it scored just after each task."""
    sums = {"split-cifar100": 46.6, "split-cifar10": 86.0, "split-miniimagenet": 40.0}
    for data, expected in sums.items():
        found = [published("table1", metric, "finetune", data, 0) for metric in ("AA", "AF_table")]
        assert sum(one.mean for one in found if one) == pytest.approx(expected)


def test_lines_as_printed() -> None:
    found = lines("feature-enhancement", "AA", "split-cifar100")
    assert found == ["scr", "ocm", "onpro", "pcr", "bison"]
    assert lines("table1", "AA", "split-cifar10")[-1] == "bison"
    assert lines("table1", "AA", "split-digits") == []
