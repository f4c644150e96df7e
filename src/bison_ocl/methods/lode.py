"""LODE on DER++: separating new from old classes weighs less than separating new ones.

Liang & Li 2023, "Loss Decoupling for Task-Agnostic Continual Learning".
On DER++ (Buzzega et al. 2020), as in the authors' code, with the BISON paper's learning rate 0.03.
Logits are stored for the original image, not for an augmented view. A stream image of an old class,
which the paper excludes, is decoupled inside the old classes. The presets for 100 and more classes
are the authors' values for small memories; the values printed in the BISON paper (alpha=0.2,
beta=0.2, rho=0.5) do not give its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.bounds import Positive
from bison_ocl.look import PURPLE, Look
from bison_ocl.losses.cross_entropy import cross_entropy
from bison_ocl.losses.dark_experience import dark_experience
from bison_ocl.methods.method import Method, Update
from bison_ocl.nets.net import Net
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class LODE(Method):
    """Decoupled cross-entropy on the stream; labels and stored logits on the memory."""

    title = "LODE"
    kind = "T"
    look = Look(PURPLE, "s", "--")
    learned = (20, 20, 20)
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        data: {"alpha": 0.2, "beta": 0.5}
        for data in ("split-cifar100", "split-miniimagenet", "split-tinyimagenet")
    }
    boundaries = True
    lr: Positive = 0.03
    """learning rate of SGD"""
    alpha: float = 0.1
    """weight of the distance to stored logits"""
    beta: float = 1.0
    """weight of cross-entropy on the memory"""
    rho: float = 0.1
    """weight of new against old classes, divided by the number of finished tasks"""
    beta1: float = 1.0
    """weight of new classes among each other"""
    shared_draw: bool = False
    """replay one batch for labels and logits, not one for each"""

    def fields(self, net: Net, classes: int) -> dict[str, Tensor]:
        """The logits of an image as it came, and for which classes the head had them then."""
        row = torch.zeros_like(net.params[self.head]["bias"])
        return {"logits": row, "known": row.bool()}

    def update(self, me: State, new: Batch) -> Update:
        n, memory = min(self.buffer_batch, me.memory.filled), me.memory
        names = ["retrieve"] if self.shared_draw else ["retrieve", "retrieve logits"]
        slots = [memory.draw(me.key(name), n) for name in names] if n else []
        views = self.view(me, new, *(memory.rows(rows) for rows in slots))
        stored = [memory.fields[name][slots[-1]] for name in ("logits", "known")] if n else []

        def loss(net: Net) -> tuple[Tensor, dict[str, Tensor]]:
            logits = self.passes(net, views)
            kept = (logits[0][: len(new)] * me.live).to(net.dtype)
            return self.total(me, logits, views, stored), {"logits": kept}

        value, grads, kept = me.net.grad_with(loss)
        return Update(value, grads, fields=kept | {"known": me.live.expand_as(kept["logits"])})

    def passes(self, net: Net, views: list[Batch]) -> list[Tensor]:
        """The logits of each batch, from a pass of its own or from one for all."""
        if not self.joint:
            return [net(view.x, self.head) for view in views]
        logits = net(torch.cat([view.x for view in views]), self.head)
        return list(torch.split(logits, [len(view) for view in views]))

    def total(
        self, me: State, logits: list[Tensor], views: list[Batch], stored: list[Tensor]
    ) -> Tensor:
        """ρ/t' inter + β1 intra on the stream, β CE + α MSE on the memory."""
        y, rows = views[0].y, self.rows(me)
        loss = cross_entropy(logits[0], y, rows)
        if me.later:
            inter, intra = decoupled(logits[0], y, me.old, rows)
            loss = self.rho * inter / me.task + self.beta1 * intra
        if not stored:
            return loss
        replay = cross_entropy(logits[1], views[1].y, rows)
        targets = (each.repeat(len(views[-1]) // len(each), 1) for each in stored)
        return loss + self.beta * replay + self.alpha * dark_experience(logits[-1], *targets)


def decoupled(logits: Tensor, y: Tensor, old: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    """The two parts of cross-entropy over `classes`, whose sum it is: inter and intra.

    Inter tells the label's side (`old`, or the rest of `classes`) from the other, intra tells the
    label from its own side. logits: [B, C], y: [B], masks: [C]
    """
    own = (old[y][:, None] == old) & classes
    everywhere = logits.masked_fill(~classes, -float("inf")).logsumexp(1)
    inside = logits.masked_fill(~own, -float("inf"))
    return (everywhere - inside.logsumexp(1)).mean(), F.cross_entropy(inside, y)
