"""DER++: replay with labels, and match the logits that the network gave when it stored an image.

Buzzega et al. 2020, "Dark Experience for General Continual Learning: a Strong, Simple Baseline",
Eq. 6. As in the authors' code (mammoth): two memory batches, one for labels and one for logits, a
forward pass for each, and logits from before the step. The defaults are the authors' values for 500
images of CIFAR-10 and of Tiny-ImageNet, the preset their value for CIFAR-100. Differences on
purpose: logits are stored for the original image, not for an augmented view (with
view_mode=replace for that view, the only one that passes); a batch has 10 images, not 32; the
reservoir counts batch by batch unless `exact_reservoir` is set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.bounds import Positive, Presets
from bison_ocl.look import PURPLE, Look
from bison_ocl.losses.cross_entropy import cross_entropy
from bison_ocl.losses.dark_experience import dark_experience
from bison_ocl.methods.method import Method, Update
from bison_ocl.nets.net import Net
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class DERPlusPlus(Method):
    """Cross-entropy on stream and memory, squared distance to stored logits; linear head."""

    title = "DER++"
    look = Look(PURPLE, "8", "-.")
    learned = (20, 20, 20)
    presets: ClassVar[Presets] = {"split-cifar100": {"alpha": 0.1}}

    lr: Positive = 0.03
    """learning rate of SGD"""
    alpha: float = 0.2
    """weight of the distance to stored logits"""
    beta: float = 0.5
    """weight of cross-entropy on the memory"""
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
        """The loss on the stream, plus β CE and α MSE on the memory once it holds images."""
        loss = self.on_stream(me, logits[0], views[0].y)
        if not stored:
            return loss
        replay = cross_entropy(logits[1], views[1].y, self.softmax_classes(me))
        targets = (each.repeat(len(views[-1]) // len(each), 1) for each in stored)
        return loss + self.beta * replay + self.alpha * dark_experience(logits[-1], *targets)

    def on_stream(self, me: State, logits: Tensor, y: Tensor) -> Tensor:
        """Cross-entropy on the stream batch."""
        return cross_entropy(logits, y, self.softmax_classes(me))
