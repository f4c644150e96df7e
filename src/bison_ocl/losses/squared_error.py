"""Squared distance of logits to a teacher's, over a set of classes (Ba & Caruana 2014)."""

from __future__ import annotations

from torch import Tensor


def squared_error(logits: Tensor, target: Tensor, classes: Tensor) -> Tensor:
    """Mean over samples and the classes of a mask; 0 for the empty one. [B, C], classes: [C]"""
    squares = (logits - target).square() * classes
    return squares.sum() / (len(logits) * classes.sum().clamp(min=1))
