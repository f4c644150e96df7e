"""A folder of results as one study: every record, checked, with AI filled in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bison_ocl.errors import UserError
from bison_ocl.evaluate.metrics import average_accuracy
from bison_ocl.experiments.intransigence import with_intransigence
from bison_ocl.experiments.ledger import FIELDS, by_identity
from bison_ocl.experiments.paper import ITEMS
from bison_ocl.experiments.records import Record, contents, parse

RESULTS = "results.jsonl"
IDENTITY = FIELDS
NEEDED = {
    *("method", "data", "memory", "seed", "settings", "stream", "data_options"),
    *("also", "class_order", "accuracy", "metrics"),
}
"""What a record must hold to be reported."""


@dataclass(frozen=True)
class Study:
    """The records of a folder by item, in order of appearance, and what a reader should know.

    A record has its `AI` and `reference` filled in (None where FINE-TUNE did not run). A network
    that was scored by another rule too has one more record, of method `er + ncm` and `rule` "ncm";
    `rule` is None for a method's own inference.
    """

    items: dict[str, list[Record]]
    warnings: list[str]


def load(folder: Path) -> Study:
    """The records of a folder and of the folders in it; the item is the folder's name."""
    warnings: list[str] = []
    found: dict[str, list[Record]] = {item: [] for item in ITEMS}
    for path in results_in(folder):
        found.setdefault(path.resolve().parent.name, []).extend(read(path, warnings))
    kept = {item: once(item, records, warnings) for item, records in found.items() if records}
    if not kept:
        raise UserError(f"{folder} holds no finished run: {RESULTS} is empty")
    everything = [record for records in kept.values() for record in records]
    items = {item: prepared(records, beside=everything) for item, records in kept.items()}
    for item, records in items.items():
        if item not in ITEMS or ITEMS[item].intransigence:
            warnings += missing_references(item, records)
    return Study(items, warnings + commits(everything))


def results_in(folder: Path) -> list[Path]:
    """The results files of a folder: its own and those of the folders in it."""
    try:
        if not folder.is_dir():
            raise UserError(f"{folder} is not a folder of results")
        found = [folder / RESULTS, *sorted(folder.glob(f"*/{RESULTS}"))]
        found = [path for path in found if path.exists()]
    except OSError as error:
        raise UserError(f"cannot read {folder}: {error.strerror or error}") from error
    if not found:
        raise UserError(
            f"{folder} holds no {RESULTS}, nor does a folder in it: run something first"
        )
    return found


def read(path: Path, warnings: list[str]) -> list[Record]:
    """The records of a file. A cut-off last line is left out and said: a run may be writing it."""
    *lines, torn = contents(path).split(b"\n")
    if torn:
        warnings.append(f"{path.parent.name}: {path.name} ends in a cut-off line, left out here")
    return [
        checked(parse(line, path, number), path, number)
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]


def checked(record: Record, path: Path, number: int) -> Record:
    """A record that holds what a report needs."""
    if missing := sorted(NEEDED - record.keys()):
        raise UserError(f"{path} line {number} lacks {', '.join(missing)}: repair or remove it")
    try:
        average_accuracy(record["accuracy"])
    except (ValueError, TypeError) as error:
        raise UserError(f"{path} line {number} is not a result: {error}") from error
    return record


def once(item: str, records: Sequence[Record], warnings: list[str]) -> list[Record]:
    """Each run once, and a word about those that are there twice."""
    kept = by_identity(records)
    if repeated := len(records) - len(kept):
        warnings.append(f"{item}: {plural(repeated, 'line')} of runs that are there twice")
    return list(kept.values())


def prepared(records: Sequence[Record], beside: Sequence[Record] = ()) -> list[Record]:
    """Records by rule, with AI; the FINE-TUNE runs may be `beside` them."""
    return with_intransigence(list(by_rule(records)), beside)


def by_rule(records: Sequence[Record]) -> Iterator[Record]:
    """Each record, and one more for every other inference rule its network was scored by."""
    for record in records:
        yield {"rule": None, **record, "also": {}}
        for rule, found in record["also"].items():
            other = {"method": f"{record['method']} + {rule}", "rule": rule, "also": {}}
            yield {**record, "confusion": None, **found, **other}


def missing_references(item: str, records: Sequence[Record]) -> list[str]:
    """Which runs have no FINE-TUNE run on their stream, in one line."""
    alone = [record for record in records if record["reference"] is None]
    if not alone:
        return []
    first = alone[0]
    return [
        f"{item}: {plural(len(alone), 'run')} without AI, for FINE-TUNE did not run on the same "
        f"stream (first: {first['method']}, {first['data']}, seed {first['seed']})"
    ]


def commits(records: Sequence[Record]) -> list[str]:
    """Whether the records come from one state of the source, in a line for each doubt."""
    counts = Counter(str(record.get("commit") or "unknown") for record in records)
    found = []
    if len(counts) > 1:
        listed = ", ".join(f"{short(commit)} ({n})" for commit, n in counts.most_common())
        found.append(f"the records come from {len(counts)} commits: {listed}")
    if changed := sum(n for commit, n in counts.items() if commit.endswith("+changed")):
        found.append(f"{plural(changed, 'run')} of source that was edited after its commit")
    return found


def short(commit: str) -> str:
    """A commit as people write it; +changed stays."""
    name, plus, changed = commit.partition("+")
    return name[:8] + plus + changed


def plural(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"
