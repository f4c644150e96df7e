"""Images that wait for their batch, and the caller's ids, in the file of a learner."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from bison_ocl.files.checkpoint import Header
from bison_ocl.learner.labels import decode, encode
from bison_ocl.learner.training import Arrival

IMAGES = "waiting.x"


def packed_images(waiting: Sequence[Arrival]) -> dict[str, Tensor]:
    """Images for a file; none if nothing waits."""
    return {IMAGES: torch.stack([one.image for one in waiting])} if waiting else {}


def arrivals_of(
    header: Header, tensors: Mapping[str, Tensor], shape: tuple[int, ...]
) -> list[Arrival]:
    """The images that waited when a file was written; earlier files have none."""
    if "waiting" not in header.by_name():
        return []
    labels = [decode(one.value) for one in header["waiting"].items()]
    names: list[Hashable | None] = [None] * len(labels)
    if "waiting_ids" in header.by_name():
        names = [decode(one.value) for one in header["waiting_ids"].items()]
        header["waiting_ids"].check(len(names) == len(labels))
    x = tensors.get(IMAGES, torch.zeros((0, *shape), dtype=torch.uint8))
    header["waiting"].check(x.dtype == torch.uint8 and x.shape == (len(labels), *shape))
    return [Arrival(*one) for one in zip(x, labels, names, strict=True)]


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
