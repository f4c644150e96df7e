"""Images that wait for their batch, in the file of a learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from bison_ocl.files.checkpoint import Header
from bison_ocl.learner.labels import decode
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
    x = tensors.get(IMAGES, torch.zeros((0, *shape), dtype=torch.uint8))
    header["waiting"].check(x.dtype == torch.uint8 and x.shape == (len(labels), *shape))
    return [Arrival(image, label) for image, label in zip(x, labels, strict=True)]
