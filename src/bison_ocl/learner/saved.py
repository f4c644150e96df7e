"""What a learner's file holds beside the state: images that wait, counts of tests, its class."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bison_ocl.errors import UserError
from bison_ocl.files.checkpoint import Header
from bison_ocl.learner.labels import decode, encode
from bison_ocl.learner.prequential import WINDOW, Prequential
from bison_ocl.methods import METHODS, method_class, name_of
from bison_ocl.methods.method import Method
from bison_ocl.methods.outside import check_method

IMAGES = "waiting.x"
Waiting = list[tuple[Tensor, Hashable]]
"""images and their labels, in order of arrival"""


def waiting_images(waiting: Waiting) -> dict[str, Tensor]:
    """Images for a file; none if nothing waits."""
    return {IMAGES: torch.stack([image for image, _ in waiting])} if waiting else {}


def waiting_of(header: Header, tensors: Mapping[str, Tensor], shape: tuple[int, ...]) -> Waiting:
    """The images and labels that waited when a file was written; earlier files have none."""
    if "waiting" not in header.by_name():
        return []
    labels = [decode(one.value) for one in header["waiting"].items()]
    x = tensors.get(IMAGES, torch.zeros((0, *shape), dtype=torch.uint8))
    header["waiting"].check(x.dtype == torch.uint8 and x.shape == (len(labels), *shape))
    return list(zip(x, labels, strict=True))


def encoded_counts(counts: Prequential) -> dict[str, Any]:
    """Counts of tests as JSON holds them."""
    by_label = [[encode(label), n, counts.right[label]] for label, n in counts.tested.items()]
    return {"by_label": by_label, "hits": "".join("01"[hit] for hit in counts.hits)}


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
    return Prequential(tested, right, tuple(hit == "1" for hit in hits))


def saved_class(path: str | Path, name: str, given: type[Method] | None) -> type[Method]:
    """The method class of a saved learner: one of this package, or the given one."""
    if given is None and name not in METHODS:
        advice = f"give load(..., method={name.title()})"
        raise UserError(f"{path} is of the method {name!r} from outside this package: {advice}")
    if given is not None:
        check_method(given)
        if name_of(given) != name:
            raise UserError(f"{path} is of the method {name!r}, not of {name_of(given)!r}")
    return given or method_class(name)
