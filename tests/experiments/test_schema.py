"""Records with one field that is not as it should be: refused in one line, or no trouble later."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bison_ocl.errors import UserError
from bison_ocl.experiments.carry.rerun import job_of
from bison_ocl.experiments.records import results as records
from bison_ocl.experiments.records.record import Record, as_values
from bison_ocl.experiments.records.schema import Values
from bison_ocl.methods.settings import configured
from bison_ocl.report.figures.drawing import save
from bison_ocl.report.study.study import load
from bison_ocl.report.tables.layouts import tables_of
from bison_ocl.report.write import write
from bison_ocl.stream.streams import parse
from tests.experiments.disk import complaint

RESULTS = Path(__file__).parents[2] / "results"
GONE = object()
WRONG = [
    GONE,
    *[None, True, "x", "", [], {}, [[1]], {"a": 1}, {"a": []}],
    *[-1, 0, 3, 57, -0.5, 1e39, 1e300, 2**31, 10**400],
]
NO_JSON = ["NaN", "Infinity", "-Infinity", "1e999", "1" * 5000]

Place = tuple[str | int, ...]


def real(item: str, number: int) -> Values:
    lines = (RESULTS / item / "results.jsonl").read_text().splitlines()
    values: Values = json.loads(lines[number])
    return values


def places(value: Any, above: Place = ()) -> Iterator[Place]:
    """Of all fields, and of the first and the last entry of lists."""
    if above:
        yield above
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*above, name))
    elif isinstance(value, list) and value:
        for index in sorted({0, len(value) - 1}):
            yield from places(value[index], (*above, index))


def changed(record: Values, place: Place, value: Any) -> Values:
    made = copy.deepcopy(record)
    at: Any = made
    for step in place[:-1]:
        at = at[step]
    if value is GONE:
        del at[place[-1]]
    else:
        at[place[-1]] = value
    return made


def mutants(record: Values) -> Iterator[str]:
    for place in places(record):
        for value in WRONG:
            yield json.dumps(changed(record, place, value))
        marked = json.dumps(changed(record, place, "@"))
        for value in NO_JSON:
            yield marked.replace('"@"', value)


def accepted(record: Values, path: Path) -> list[Record]:
    """The mutants that are read; the others are refused in one line that names the file's."""
    found = []
    for line in mutants(record):
        path.write_text(f"{json.dumps(record)}\n{line}\n")
        try:
            found.append(records.read(path)[1])
        except UserError as error:
            told = str(error)
            assert told.startswith(f"{path} line 2 "), told
            assert "repair or remove that line" in told or "has schema" in told, told
            assert "\n" not in told
    return found


REAL = [("digits", -1), ("digits", 0), ("demo", -1)]


# What is said of dozens of machines under one figure may leave its axes no room.
@pytest.mark.filterwarnings("ignore:constrained_layout not applied")
@pytest.mark.parametrize(("item", "number"), REAL)
def test_what_is_read_can_be_reported_and_run_again(
    item: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = real(item, number) | {"class_names": [f"digit {n}" for n in range(10)]}
    file = tmp_path / item / "results.jsonl"
    file.parent.mkdir()
    found = accepted(good, file)
    assert len(found) > 100
    first = read_one(good, file)
    same = [one for one in found if one.experiment == first.experiment]
    other = [one for one in found if one.experiment != first.experiment]
    # One report is slow enough: those of the same experiment are runs of seeds of their own.
    put([first, *(replace(one, seed=seed) for seed, one in enumerate(same, 100))], file)
    undrawn = {"png": lambda figure, path: figure.draw_without_rendering()}
    monkeypatch.setattr(save, "KINDS", undrawn)
    write(file.parent, out=tmp_path / "report", say=lambda _: None)
    for one in other:
        put([first, one], file)
        study = load(file)
        tables_of(item, study.items[item])
    for one in found:
        told = complaint(prepare, one, tmp_path)
        assert told is None or "\n" not in told


def read_one(values: Values, file: Path) -> Record:
    file.write_text(json.dumps(values) + "\n")
    (record,) = records.read(file)
    return record


def put(found: Iterable[Record], file: Path) -> None:
    file.write_text("".join(f"{json.dumps(as_values(one))}\n" for one in found))


def prepare(record: Record, out: Path) -> None:
    """All that comes before training a record again."""
    job = job_of(record, out, "cpu", None)
    configured(job.method, job.data, job.settings)
    parse(job.stream)


def test_the_records_of_this_project_are_read() -> None:
    files = list(RESULTS.rglob("*.jsonl"))
    assert sum(len(records.read(file)) for file in files) > 500


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        (("memory",), -1, "memory"),
        (("seed",), True, "seed"),
        (("metrics", "AA"), 1.5, "metrics"),
        (("accuracy", 0, 0), 1.5, "accuracy"),
        (("accuracy", 0), [0.5], "accuracy"),
        (("class_order", 0), 57, "class_order"),
        (("class_names",), ["zero", "one"], "class_names"),
        (("class_names",), list("012345678"), "class_names"),
        (("class_names",), list(range(10)), "class_names"),
        (("confusion", 0, 0, 0), -1, "confusion"),
        (("confusion", 0), [[1]], "confusion"),
        (("log",), [], "log"),
        (("losses", "steps"), [1], "losses"),
        (("timing", "train_s"), "fast", "timing"),
        (("environment", "threads"), 10**9, "environment"),
        (("also",), {"ncm": {}}, "also ncm"),
    ],
)
def test_the_field_is_named(place: Place, value: Any, named: str, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(changed(real("digits", -1), place, value)) + "\n")
    with pytest.raises(
        UserError, match=f"line 1 is not a result: {named}: repair or remove that line"
    ):
        records.read(path)


def test_nesting_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("[" * 100_000 + "\n")
    with pytest.raises(UserError, match="line 1 is not a result"):
        records.read(path)
