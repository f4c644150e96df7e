"""Counts of prequential tests as JSON holds them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from bison_ocl.files.checkpoint import Header
from bison_ocl.learner.labels import decode, encode
from bison_ocl.learner.prequential import WINDOW, Prequential


def encoded_counts(counts: Prequential) -> dict[str, Any]:
    """Counts for the header of a file."""
    by_label = [[encode(label), n, counts.right[label]] for label, n in counts.tested.items()]
    hits = "".join("01"[hit] for hit in counts.hits)
    return {"by_label": by_label, "nameless": list(counts.nameless), "hits": hits}


def counts_of(header: Header) -> Prequential:
    """The counts of a file; earlier files have none."""
    if "counts" not in header.by_name():
        return Prequential()
    said = header["counts"]
    tested: dict[Hashable, int] = {}
    right: dict[Hashable, int] = {}
    for one in said["by_label"].items():
        one.check(len(one.items()) == 3)
        said_label, n, of_them = one.items()
        label = decode(said_label.value)
        tested[label] = n.whole(least=1)
        right[label] = of_them.whole(most=tested[label])
    hits = said["hits"].text()
    said["hits"].check(set(hits) <= {"0", "1"} and len(hits) <= WINDOW)
    return Prequential(tested, right, tuple(hit == "1" for hit in hits), nameless_of(said))


def nameless_of(said: Header) -> tuple[int, int]:
    """Counts of forgotten labels; in earlier files these keep their names."""
    if "nameless" not in said.by_name():
        return 0, 0
    both = said["nameless"].items()
    said["nameless"].check(len(both) == 2)
    images = both[0].whole()
    return images, both[1].whole(most=images)
