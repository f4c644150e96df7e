"""Images that wait or are held back, and the caller's ids, in the file of a learner."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from bison_ocl.files.checkpoint import Header
from bison_ocl.learner.arrival import Arrival, arrivals_from
from bison_ocl.learner.labels.names import decode, encode


def packed(name: str, arrivals: Sequence[Arrival]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and header values of images for a file."""
    header = {
        name: [encode(arrival.label) for arrival in arrivals],
        f"{name}_ids": [encode(arrival.id) for arrival in arrivals],
    }
    x = {f"{name}.x": torch.stack([a.image for a in arrivals])} if arrivals else {}
    return x, header


def arrivals_of(
    name: str, header: Header, tensors: Mapping[str, Tensor], shape: tuple[int, ...]
) -> list[Arrival]:
    """Images of that name in a file; earlier files have none, or none with an id."""
    kept = header.get(name, [])
    labels = [decode(label.value) for label in kept.items()]
    named = header.get(f"{name}_ids", [None] * len(labels))
    ids = [decode(one.value) for one in named.items()]
    named.check(len(ids) == len(labels))
    x = tensors.get(f"{name}.x", torch.zeros((0, *shape), dtype=torch.uint8))
    kept.check(x.dtype == torch.uint8 and x.shape == (len(labels), *shape))
    return arrivals_from(x, labels, ids)


def encoded_ids(ids: Mapping[int, Hashable]) -> list[list[Any]]:
    """Ids of stored images for the header of a file."""
    return [[number, encode(name)] for number, name in ids.items()]


def ids_of(header: Header) -> dict[int, Hashable]:
    """The ids of a file by number of arrival; earlier files have none."""
    ids: dict[int, Hashable] = {}
    for pair in header.get("ids", []).items():
        pair.check(len(pair.items()) == 2)
        number, name = pair.items()
        ids[number.whole()] = decode(name.value)
    return ids
