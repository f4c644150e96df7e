"""With how many threads runs were computed: on a CPU results depend on it, by points."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bison_ocl.experiments.records.results import Record

GPU = "NVIDIA"
"""how the device's name begins in records from before peak memory was measured"""


def threads_of(record: Record) -> int | None:
    """None where it does not matter, on a GPU, or is not known."""
    place = record.get("environment", {})
    on_gpu = "peak_MB" in record.get("timing", {}) or str(place.get("device")).startswith(GPU)
    threads: int | None = None if on_gpu else place.get("threads")
    return threads


def listed(records: Sequence[Record]) -> str:
    """`2`, or `1, 2` where runs differ."""
    found = {threads for record in records if (threads := threads_of(record)) is not None}
    return ", ".join(map(str, sorted(found)))


def differing(records: Sequence[Record], name_of: Callable[[Record], str]) -> tuple[str, ...]:
    """The thread counts of compared runs by name, in one line; nothing where all have the same."""
    if "," not in listed(records):
        return ()
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(name_of(record), []).append(record)
    told = "; ".join(f"{name} {listed(group) or 'unknown'}" for name, group in groups.items())
    return (f"threads, on whose number results depend: {told}",)
