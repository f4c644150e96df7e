"""Results on the disk as one study: every record, checked, with AI filled in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from bison_ocl.errors import UserError, plural, reason
from bison_ocl.experiments.plan.paper import ITEMS, REFERENCE
from bison_ocl.experiments.plan.plan import settings_of_reference
from bison_ocl.experiments.records.digests import differ
from bison_ocl.experiments.records.ledger import by_identity
from bison_ocl.experiments.records.record import Record, as_values, from_values
from bison_ocl.experiments.records.results import RESULTS, parsed, split
from bison_ocl.experiments.records.spec import own_name
from bison_ocl.methods.declared import settings_on
from bison_ocl.report.formats.printable import printable, with_printable_names
from bison_ocl.report.study.entry import Entry, by_own_rule, prepared


@dataclass(frozen=True)
class Study:
    """The records by item, in order of appearance, and warnings to the reader."""

    items: dict[str, list[Entry]]
    warnings: list[str]


def load(*paths: Path, methods: Collection[str] = ()) -> Study:
    """The records of files, or of folders and the folders in them.

    methods: those to keep, by default all; AI is filled in before the others are left out.
    """
    warnings: list[str] = []
    found: dict[str, list[Record]] = {item: [] for item in ITEMS}
    files = chain.from_iterable(map(results_in, paths))
    for file in {file.resolve(): file for file in files}.values():
        found.setdefault(item_of(file), []).extend(read(file, warnings))
    kept = {
        item: as_long(item, once(item, records, warnings), warnings)
        for item, records in found.items()
        if records
    }
    if not kept:
        listed = " and ".join(map(str, paths))
        raise UserError(f"no finished run in {listed}: train one first")
    everything = trained_once(kept)
    items = {item: prepared(records, others=everything) for item, records in kept.items()}
    for item, records in items.items():
        compared = item not in ITEMS or ITEMS[item].intransigence
        warnings += missing_references(item, records) if compared else []
        warnings += doubts(item, records, compared)
    return chosen(Study(items, warnings + commits(everything)), methods)


def chosen(study: Study, methods: Collection[str]) -> Study:
    """The study of some methods, by any inference rule."""
    known = {own_name(one.method) for records in study.items.values() for one in records}
    if unknown := sorted(set(methods) - known):
        raise UserError(f"no run of {unknown[0]!r}: there are runs of {', '.join(sorted(known))}")
    kept = {
        item: [one for one in records if not methods or own_name(one.method) in methods]
        for item, records in study.items.items()
    }
    return replace(study, items={item: records for item, records in kept.items() if records})


# --- files ---


def results_in(path: Path) -> list[Path]:
    """The file itself, or the results of a folder and of the folders in it."""
    try:
        if path.is_file():
            return [path]
        if not path.is_dir():
            raise UserError(
                f"no file or folder {path}: give a folder of results or a file of records"
            )
        folders = [path, *sorted(one for one in path.iterdir() if one.is_dir())]
        found = [file for folder in folders for file in results_of(folder)]
    except OSError as error:
        raise UserError(f"cannot read {path}: {reason(error)}") from error
    if not found:
        raise UserError(
            f"no {RESULTS} in {path} or its subfolders: train runs first, or give another"
        )
    return found


def results_of(folder: Path) -> list[Path]:
    """results.jsonl, where commands put records; without it, all files of records there are."""
    usual = folder / RESULTS
    return [usual] if usual.exists() else sorted(folder.glob("*.jsonl"))


def item_of(file: Path) -> str:
    """The folder's name; of a file with a name of its own, that."""
    return printable(file.resolve().parent.name if file.name == RESULTS else file.stem)


def read(path: Path, warnings: list[str]) -> list[Record]:
    """The records of a file. A cut-off last line is left out and said."""
    lines, torn = split(path)
    if torn:
        warnings.append(f"{item_of(path)}: {path.name} ends in a cut-off line, which is left out")
    return [from_values(with_printable_names(as_values(record))) for record in parsed(lines, path)]


# --- records ---


def once(item: str, records: Sequence[Record], warnings: list[str]) -> list[Record]:
    """Each run once, with a warning about those that are there twice."""
    kept = by_identity(records)
    if repeated := len(records) - len(kept):
        warnings.append(
            f"{item}: {plural(repeated, 'line')} of runs that are there twice; the later counts, "
            "unless it was scored by fewer rules; if their accuracies agree, all rules count"
        )
    return list(kept.values())


def trained_once(items: Mapping[str, Sequence[Record]]) -> list[Record]:
    """The runs of all items, each once: an item may hold copies of another's."""
    found = {(one.identity, one.timing): one for records in items.values() for one in records}
    return list(found.values())


def as_long(item: str, records: Sequence[Record], warnings: list[str]) -> list[Record]:
    """Runs with as many tasks as the first of their experiment, with a warning about the others."""
    lengths: dict[str, int] = {}
    for record in records:
        lengths.setdefault(record.experiment, len(record.accuracy))
    alike = [len(record.accuracy) == lengths[record.experiment] for record in records]
    kept = [record for record, same in zip(records, alike, strict=True) if same]
    other = [record for record, same in zip(records, alike, strict=True) if not same]
    warnings += counted(item, other, "left out: the first of the same method has other tasks")
    return kept


# --- warnings ---


def missing_references(item: str, records: Sequence[Entry]) -> list[str]:
    """Which runs have no FINE-TUNE run on their stream, in one line."""
    alone = [record for record in by_own_rule(records) if record.reference is None]
    return counted(item, alone, "without AI: FINE-TUNE did not run on the same stream")


def doubts(item: str, records: Sequence[Entry], compared: bool = True) -> list[str]:
    """Warnings about the numbers themselves. compared: whether AI is reported."""
    trained = by_own_rule(records)
    references = other_references(item, trained) if compared else []
    return references + other_images(item, trained) + diverged(item, trained)


def other_references(item: str, records: Sequence[Entry]) -> list[str]:
    """How many runs have their AI from FINE-TUNE with other settings, in one line."""
    found = [other for record in records if (other := differing(record))]
    names = ", ".join(sorted({name for other in found for name in other}))
    text = (
        f"{item}: AI of {plural(len(found), 'run')} is relative to FINE-TUNE with another {names}"
    )
    return [text] if found else []


def differing(record: Entry) -> list[str]:
    """What was set for a run or for the FINE-TUNE run of its AI, and differs between them."""
    if (reference := record.reference_run) is None:
        return []
    asked = changed(record.method, record.data, record.settings)
    asked |= changed(REFERENCE, record.data, reference)
    shared = [name for name in settings_of_reference() if name in asked]
    ours = record.settings | {"precision": record.precision}
    return [name for name in [*shared, "precision"] if reference.get(name) != ours.get(name)]


def changed(method: str, data: str, settings: Mapping[str, Any]) -> set[str]:
    """The settings whose values are not the usual ones; none of a method that is not known."""
    usual = settings_on(method, data)
    return {name for name, value in usual.items() if settings.get(name, value) != value}


def other_images(item: str, records: Sequence[Entry]) -> list[str]:
    """Which experiments have runs on different images, in one line."""
    firsts: dict[str, Entry] = {}
    found = [one for one in records if differ(one, firsts.setdefault(one.experiment, one))]
    return counted(item, found, "on other images than the first of the same method")


def diverged(item: str, records: Sequence[Entry]) -> list[str]:
    """Which runs had a loss that was not finite, in one line; such steps are refused."""
    lost = [r for r in records if r.refused_steps or (r.losses and None in r.losses.loss)]
    refused = sum(record.refused_steps for record in lost)
    steps = f", {plural(refused, 'step')} refused" if refused else ""
    found = f"the loss of {plural(len(lost), 'run')} was not finite{steps}"
    return [f"{item}: {found} {first_of(lost)}: lower lr"] if lost else []


def counted(item: str, found: Sequence[Record], kind: str) -> list[str]:
    """The number of runs of a kind and the first of them, in one line."""
    return [f"{item}: {plural(len(found), 'run')} {kind} {first_of(found)}"] if found else []


def first_of(records: Sequence[Record]) -> str:
    """The first of some runs."""
    first = records[0]
    return f"(first: {first.method}, {first.data}, seed {first.seed})"


def commits(records: Sequence[Record]) -> list[str]:
    """Warnings about records from several commits or from edited source."""
    counts = Counter(str(record.commit or "unknown") for record in records)
    found = []
    if len(counts) > 1:
        listed = ", ".join(f"{short(commit)} ({n})" for commit, n in counts.most_common())
        found.append(f"the records come from {len(counts)} commits: {listed}")
    if changed := sum(n for commit, n in counts.items() if commit.endswith("+changed")):
        found.append(f"{plural(changed, 'run')} of source that was edited after its commit")
    return found


def short(commit: str) -> str:
    """The first eight digits of a commit, and `+changed`."""
    name, plus, changed = commit.partition("+")
    return name[:8] + plus + changed
