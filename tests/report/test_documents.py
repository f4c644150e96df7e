"""Documents say what the records say, and name code that is there."""

from __future__ import annotations

import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path
from statistics import mean, stdev

from benchmarks import digits
from benchmarks.readings import lines

import bison_ocl
from bison_ocl.experiments.records import Record, read, whole
from bison_ocl.report.folder import load
from bison_ocl.report.names import DATA, memory_name
from bison_ocl.report.paper import published

PROJECT = Path(__file__).parents[2]


def percent(runs: list[Record], metric: str) -> list[float]:
    return [100 * run["metrics"][metric] for run in runs]


def line(data: str, memory: int, runs: list[Record]) -> str:
    """A cell: ours, n, the paper's and the difference in AA; forgetting and intransigence."""
    papers = {
        metric: published("table1", metric, "bison", data, memory)
        for metric in ("AA", "AF_table", "AI")
    }
    ours = percent(runs, "AA")
    pairs = [
        f"{mean(percent(runs, metric)):.1f} / {papers[metric].mean:.1f}"  # type: ignore[union-attr]
        for metric in ("AF_table", "AI")
    ]
    wanted = papers["AA"].mean  # type: ignore[union-attr]
    difference = f"{mean(ours) - wanted:+.1f}".replace("-", "−")
    cell = f"{DATA[data]}, {memory_name(memory)}"
    ours_text = f"{mean(ours):.1f} ± {stdev(ours):.1f} ({len(ours)})"
    return f"| {cell} | {ours_text} | {wanted:.1f} | {difference} | {' | '.join(pairs)} |"


def test_every_cell_of_bison_is_there_as_the_records_have_it() -> None:
    records = load(PROJECT / "results" / "table1").items["table1"]
    cells = {(r["data"], r["memory"]) for r in records if r["method"] == "bison"}
    readme = (PROJECT / "README.md").read_text("utf-8")
    for data, memory in sorted(cells):
        runs = [
            r for r in records if (r["method"], r["data"], r["memory"]) == ("bison", data, memory)
        ]
        assert line(data, memory, runs) in readme
    assert len(cells) == readme.count("| Split CIFAR-10") + readme.count("| Split Mini-ImageNet, M")


def test_the_table_of_readings_is_that_of_the_pilots() -> None:
    pilots = PROJECT / "results" / "pilots"
    files = [pilots / "readings.jsonl", pilots / "bison-m1000-precision.jsonl"]
    table = "\n".join(lines([record for file in files for record in whole(file)]))
    assert table in (PROJECT / "docs/READINGS.md").read_text("utf-8")


def test_the_page_of_digits_is_that_of_the_records(tmp_path: Path) -> None:
    page = tmp_path / "DIGITS.md"
    digits.write(read(PROJECT / "results/digits/results.jsonl"), page)
    assert page.read_text("utf-8") == (PROJECT / "docs/DIGITS.md").read_text("utf-8")


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
