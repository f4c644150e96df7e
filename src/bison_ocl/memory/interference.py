"""Which stored images a step would hurt most: candidates, their ranking, and MGI's measure."""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl.batch import one_hot
from bison_ocl.memory.memory import Memory
from bison_ocl.rng import Key, uniform


def candidates(key: Key, memory: Memory, n: int, avoided: Tensor) -> Tensor:
    """n distinct slots in use, at random; those of avoided classes only if no others are left.

    avoided: bool [C]
    """
    labels = memory.y[: memory.capacity].clamp(0, len(avoided) - 1)  # empty rows hold any number
    late = avoided[labels].to(torch.float32) + 2 * (~memory.used)
    return (uniform(key, (memory.capacity,)) - late).topk(n).indices


def largest(harm: Tensor, n: int, avoided: Tensor) -> Tensor:
    """The n most harmed candidates, or all; avoided ones last, in the order they were drawn."""
    harm = harm.masked_fill(avoided, -float("inf"))
    return harm.argsort(descending=True, stable=True)[:n]


def gradient_size(z: Tensor, logits: Tensor, y: Tensor, classes: Tensor) -> Tensor:
    """‖softmax − one-hot‖₁ · ‖z‖₁: the size of each image's gradient in a linear head (MGI).

    Gu et al. 2022, Eq. 4. z: [B, d], logits: [B, C], classes: bool [C] -> [B]
    """
    p = logits.masked_fill(~classes, -float("inf")).softmax(-1)
    return (p - one_hot(y, logits.shape[-1]).to(p.dtype)).abs().sum(-1) * z.abs().sum(-1)
