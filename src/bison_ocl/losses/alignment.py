"""Proxy alignment feedback: turn class vectors towards those of another head (paper, Eq. 4)."""

from __future__ import annotations

from torch import Tensor

from bison_ocl.nets.heads import unit


def alignment(w: Tensor, target: Tensor, classes: Tensor) -> Tensor:
    """Mean over a set of classes of 1 − cos(w_c, sg(target_c)); 0 for the empty set. w: [C, d]"""
    distance = 1 - (unit(w) * unit(target.detach())).sum(-1)
    return (distance * classes).sum() / classes.sum().clamp(min=1)
