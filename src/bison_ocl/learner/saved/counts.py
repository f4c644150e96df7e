"""Counts of prequential tests as JSON holds them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from bison_ocl.files.checkpoint import Header
from bison_ocl.learner.labels.names import decode, encode
from bison_ocl.learner.prequential import WINDOW, Prequential


def encoded_counts(counts: Prequential) -> dict[str, Any]:
    """Counts for the header of a file."""
    by_label = [[encode(label), n, counts.right[label]] for label, n in counts.tested.items()]
    hits = "".join("01"[hit] for hit in counts.hits)
    return {"by_label": by_label, "nameless": list(counts.nameless), "hits": hits}


def counts_of(header: Header) -> Prequential:
    """The counts of a file; earlier files have none."""
    counts = header.get("counts", encoded_counts(Prequential()))
    tested: dict[Hashable, int] = {}
    right: dict[Hashable, int] = {}
    for row in counts["by_label"].items():
        row.check(len(row.items()) == 3)
        encoded, images, hits = row.items()
        label = decode(encoded.value)
        tested[label] = images.whole(least=1)
        right[label] = hits.whole(most=tested[label])
    recent = counts["hits"].text()
    counts["hits"].check(set(recent) <= {"0", "1"} and len(recent) <= WINDOW)
    return Prequential(tested, right, tuple(hit == "1" for hit in recent), nameless_of(counts))


def nameless_of(counts: Header) -> tuple[int, int]:
    """Counts of forgotten labels; in earlier files these keep their names."""
    nameless = counts.get("nameless", [0, 0])
    nameless.check(len(nameless.items()) == 2)
    images, right = nameless.items()
    return images.whole(), right.whole(most=images.whole())
