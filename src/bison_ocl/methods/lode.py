"""LODE on DER++: separating new from old classes weighs less than separating new ones.

Liang & Li 2023, "Loss Decoupling for Task-Agnostic Continual Learning".
On DER++ (Buzzega et al. 2020), as in the authors' code, with the BISON paper's learning rate 0.03.
Logits are stored for the original image, not for an augmented view. A stream image of an old class,
which the paper excludes, is decoupled inside the old classes. The presets for 100 and more classes
are the authors' values for small memories; the values printed in the BISON paper (alpha=0.2,
beta=0.2, rho=0.5) do not give its numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from bison_ocl.bounds import Presets
from bison_ocl.look import PURPLE, Look
from bison_ocl.methods.derpp import DERPlusPlus
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class LODE(DERPlusPlus):
    """Decoupled cross-entropy on the stream; on the memory the losses of DER++."""

    title = "LODE"
    kind = "T"
    look = Look(PURPLE, "s", "--")
    presets: ClassVar[Presets] = {
        data: {"alpha": 0.2, "beta": 0.5}
        for data in ("split-cifar100", "split-miniimagenet", "split-tinyimagenet")
    }
    boundaries = True

    alpha: float = 0.1
    """weight of the distance to stored logits"""
    beta: float = 1.0
    """weight of cross-entropy on the memory"""
    rho: float = 0.1
    """weight of new against old classes, divided by the number of finished tasks"""
    beta1: float = 1.0
    """weight of new classes among each other"""

    def on_stream(self, me: State, logits: Tensor, y: Tensor) -> Tensor:
        """Cross-entropy in the first task; after t' tasks ρ/t' inter + β1 intra."""
        if not me.later:
            return super().on_stream(me, logits, y)
        inter, intra = decoupled(logits, y, me.old, self.softmax_classes(me))
        return self.rho * inter / me.task + self.beta1 * intra


def decoupled(logits: Tensor, y: Tensor, old: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    """inter = log Σ_K e^l − log Σ_S e^l and intra = log Σ_S e^l − l_y; their sum is cross-entropy.

    K: `classes`; S: the label's side of K, `old` or not. logits: [B, C], y: [B], masks: [C]
    """
    side = (old[y][:, None] == old) & classes
    everywhere = logits.masked_fill(~classes, -float("inf")).logsumexp(1)
    inside = logits.masked_fill(~side, -float("inf"))
    return (everywhere - inside.logsumexp(1)).mean(), F.cross_entropy(inside, y)
