"""An observed image on its way into learning."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from torch import Tensor

from bison_ocl.learner.labels.names import Names, with_type


@dataclass(frozen=True)
class Arrival:
    """An image, bytes [3, H, W], with its label."""

    image: Tensor
    label: Hashable
    id: Hashable | None = None
    """the caller's name for it"""

    def is_named(self, ids: Names, labels: Names) -> bool:
        """Whether its id or its label is among these."""
        return with_type(self.id) in ids or with_type(self.label) in labels


def arrivals_from(
    x: Tensor, labels: Iterable[Hashable], ids: Iterable[Hashable | None]
) -> list[Arrival]:
    """Images [N, 3, H, W] one by one; each owns its pixels.

    A view that waits would keep the pixels of the whole call, in memory and in pickles.
    """
    rows = zip(x, labels, ids, strict=True)
    return [Arrival(image.clone(), label, name) for image, label, name in rows]
