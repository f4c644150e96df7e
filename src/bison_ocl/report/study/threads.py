"""With how many threads runs were computed: on a CPU results depend on it, by points."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bison_ocl.report.study.entry import Entry


def threads_of(record: Entry) -> int | None:
    """None on a GPU, where it does not matter."""
    environment = record.environment
    return environment.threads if environment.device_type == "cpu" else None


def listed(records: Sequence[Entry]) -> str:
    """`2`, or `1, 2` where runs differ."""
    found = {threads for record in records if (threads := threads_of(record)) is not None}
    return ", ".join(map(str, sorted(found)))


def differing(records: Sequence[Entry], name_of: Callable[[Entry], str]) -> tuple[str, ...]:
    """The thread counts of compared runs by name, in one line; nothing where all have the same."""
    if "," not in listed(records):
        return ()
    groups: dict[str, list[Entry]] = {}
    for record in records:
        groups.setdefault(name_of(record), []).append(record)
    told = "; ".join(f"{name} {listed(group) or 'unknown'}" for name, group in groups.items())
    return (f"threads, on whose number results depend: {told}",)
