"""An observed image on its way into learning."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Arrival:
    """An image, bytes [3, H, W], with its label."""

    image: Tensor
    label: Hashable
    id: Hashable | None = None
    """the caller's name for it"""
