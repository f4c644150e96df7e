"""Records as tidy pandas tables: one row per run, per task or per class.

    from bison_ocl import results
    runs = results.load("runs")
    runs.groupby(["method", "memory"])["AA"].agg(["mean", "std", "count"])

Needs pandas: pip install 'bison-ocl[analysis]'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bison_ocl.errors import UserError
from bison_ocl.experiments.records.spec import own_name
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.study import load as study_of

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
Per = Literal["run", "task", "class"]

OWN = "own"
"""the readout of a method's own inference rule"""


def load(*paths: str | PathLike[str], per: Per = "run") -> pd.DataFrame:
    """The records of files, or of folders and the folders in them, with AI where FINE-TUNE ran.

    per="run": metrics, settings (`set.beta`), times and provenance. per="task": `accuracy` on
    task `task` after learning task `after`, both from 1. per="class": `images`, `correct` and
    `predicted` of each class after each task, where a record keeps its confusion matrices.
    Accuracies and metrics are fractions. A network that was read by other rules has one row for
    each, named in `readout`.
    """
    import_pandas()
    import pandas as pd

    if per not in ROWS:
        raise UserError(f"per={per!r}: choose from {', '.join(ROWS)}")
    if not paths:
        raise UserError("no path given: expected a folder of results or a file of records")
    items = study_of(*map(Path, paths)).items
    entries = ((item, entry) for item, found in items.items() for entry in found)
    rows = list(ROWS[per](entries))
    return pd.DataFrame(rows, columns=columns(rows))


def columns(rows: Iterable[Row]) -> list[str]:
    """The columns in the order of a row, settings of all methods next to each other."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    for prefix in ("data.", "set."):
        group = [name for name in names if name.startswith(prefix)]
        at = names.index(group[0]) if group else 0
        rest = [name for name in names if name not in group]
        names = [*rest[:at], *group, *rest[at:]]
    return names


def import_pandas() -> None:
    """Refuse in one line where pandas is missing."""
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        message = "results.load needs pandas: pip install 'bison-ocl[analysis]'"
        raise UserError(message) from error


def identity(item: str, entry: Entry) -> Row:
    """The columns that identify a row in every table."""
    options = {f"data.{name}": value for name, value in entry.data_options.items()}
    return {
        "item": item,
        "method": own_name(entry.method),
        "readout": entry.rule or OWN,
        "data": entry.data,
        **options,
        "stream": entry.stream,
        "memory": entry.memory,
        "seed": entry.seed,
        "precision": entry.precision,
    }


def by_run(entries: Iterable[tuple[str, Entry]]) -> Iterator[Row]:
    """One row per run and readout."""
    for item, entry in entries:
        yield {
            **identity(item, entry),
            "title": entry.method_title,
            **vars(entry.metrics),
            **{f"set.{name}": value for name, value in entry.settings.items()},
            **vars(entry.timing),
            "parameters": entry.parameters,
            "refused_steps": entry.refused_steps,
            "device": entry.environment.device,
            "threads": entry.environment.threads,
            "torch": entry.environment.torch,
            "commit": entry.commit,
        }


def by_task(entries: Iterable[tuple[str, Entry]]) -> Iterator[Row]:
    """One row per run, readout and pair of a task and a later one."""
    for item, entry in entries:
        for after, row in enumerate(entry.accuracy, 1):
            for task, accuracy in enumerate(row[:after], 1):
                known = identity(item, entry)
                yield {**known, "after": after, "task": task, "accuracy": accuracy}


def by_class(entries: Iterable[tuple[str, Entry]]) -> Iterator[Row]:
    """One row per run, readout, task and class seen so far."""
    for item, entry in entries:
        for after, counts in enumerate(entry.confusion or [], 1):
            for label, row in enumerate(counts):
                if images := sum(row):
                    yield {
                        **identity(item, entry),
                        "after": after,
                        "class": label,
                        "images": images,
                        "correct": row[label],
                        "predicted": sum(line[label] for line in counts),
                    }


ROWS: dict[str, Callable[[Iterable[tuple[str, Entry]]], Iterator[Row]]] = {
    "run": by_run,
    "task": by_task,
    "class": by_class,
}
