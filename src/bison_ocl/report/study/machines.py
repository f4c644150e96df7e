"""The machines of runs: times compare on one machine only, CPU results depend on threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.experiments import Experiment


def hardware(experiments: Sequence[Experiment]) -> tuple[str, ...]:
    """The machines of some runs; times of several machines do not compare."""
    records = [record for one in experiments for record in one.records]
    found = dict.fromkeys(record.environment.device for record in records)
    doubt = ": do not compare across machines" * (len(found) > 1)
    together = max((record.timing.seeds_at_once for record in records), default=1)
    shared = (f"up to {together} seeds trained together: a run's time is its share",)
    return (f"measured on {', '.join(found)}{doubt}", *shared * (together > 1))


def threads_of(record: Entry) -> int | None:
    """None on a GPU, where it does not matter."""
    environment = record.environment
    return environment.threads if environment.device_type == "cpu" else None


def listed(records: Iterable[Entry]) -> str:
    """`2`, or `1, 2` where runs differ."""
    found = {threads for record in records if (threads := threads_of(record)) is not None}
    return ", ".join(map(str, sorted(found)))


def differing_threads(experiments: Sequence[Experiment]) -> tuple[str, ...]:
    """The thread counts of compared runs by name, in one line; nothing where all have the same."""
    named: dict[str, list[Entry]] = {}
    for one in experiments:
        named.setdefault(one.title, []).extend(one.records)
    if "," not in listed(record for records in named.values() for record in records):
        return ()
    counts = "; ".join(f"{name} {listed(records) or 'unknown'}" for name, records in named.items())
    return (f"results depend on the number of threads: {counts}",)
