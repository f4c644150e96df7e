"""Images that wait or are held back, and the caller's ids, in the file of a learner."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from bison_ocl.files.checkpoint import Header
from bison_ocl.learner.arrival import Arrival
from bison_ocl.learner.labels import decode, encode


def packed(name: str, arrivals: Sequence[Arrival]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and header values of images for a file."""
    said = {
        name: [encode(one.label) for one in arrivals],
        f"{name}_ids": [encode(one.id) for one in arrivals],
    }
    x = {f"{name}.x": torch.stack([one.image for one in arrivals])} if arrivals else {}
    return x, said


def arrivals_of(
    name: str, header: Header, tensors: Mapping[str, Tensor], shape: tuple[int, ...]
) -> list[Arrival]:
    """Images of that name in a file; earlier files have none."""
    if name not in header.by_name():
        return []
    labels = [decode(one.value) for one in header[name].items()]
    ids: list[Hashable | None] = [None] * len(labels)
    if f"{name}_ids" in header.by_name():
        ids = [decode(one.value) for one in header[f"{name}_ids"].items()]
        header[f"{name}_ids"].check(len(ids) == len(labels))
    x = tensors.get(f"{name}.x", torch.zeros((0, *shape), dtype=torch.uint8))
    header[name].check(x.dtype == torch.uint8 and x.shape == (len(labels), *shape))
    return [Arrival(*one) for one in zip(x, labels, ids, strict=True)]


def encoded_ids(ids: Mapping[int, Hashable]) -> list[list[Any]]:
    """Ids of stored images for the header of a file."""
    return [[number, encode(name)] for number, name in ids.items()]


def ids_of(header: Header) -> dict[int, Hashable]:
    """The ids of a file by number of arrival; earlier files have none."""
    found: dict[int, Hashable] = {}
    if "ids" in header.by_name():
        for one in header["ids"].items():
            one.check(len(one.items()) == 2)
            number, name = one.items()
            found[number.whole()] = decode(name.value)
    return found
