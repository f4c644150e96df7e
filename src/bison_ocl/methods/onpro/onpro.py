"""OnPro: contrast class means of two views, and mix classes whose means are close.

Wei, Ye, Huang, Zhang & Shan 2023, "Online Prototype Learning for Online Continual Learning" (ICCV).
As in the authors' code, on OCM's rotations, views and contrast: prototype equilibrium (OPE); from
the second batch of a later task, a memory batch mixed by feedback (APF). Deliberate differences:
any class order, no cut of the batch to 7 images per class, and a separate label per mixture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bison_ocl.batch import Batch, to_float
from bison_ocl.bounds import Positive, Presets, Share
from bison_ocl.look import BLUE, Look
from bison_ocl.methods.method import Method
from bison_ocl.methods.ocm.ocm import OCM
from bison_ocl.methods.onpro.feedback import Feedback
from bison_ocl.methods.onpro.mixed_cross_entropy import mixed_cross_entropy
from bison_ocl.methods.onpro.prototype_equilibrium import prototype_equilibrium, prototypes
from bison_ocl.nets.heads import unit
from bison_ocl.nets.net import Net
from bison_ocl.nets.norm import Mode
from bison_ocl.state import Extras, State
from bison_ocl.views.crop_flip_grey import crop_flip_grey
from bison_ocl.views.rotations import rotation_labels

LARGE = {"filters": 64, "buffer_batch": 64}
FEW = {"kappa": 0.5, "mixup_rate": 0.75, "mixup_probability": 0.6}


@dataclass(frozen=True, kw_only=True)
class OnPro(OCM):
    """OCM's contrast with prototypes instead of a previous model."""

    title = "OnPro"
    kind = "F"
    look = Look(BLUE, (4, 1, 0), "--")
    learned = (640, 20, 10)
    scored = (20,)
    presets: ClassVar[Presets] = {
        "split-digits": FEW,
        "split-cifar10": {**LARGE, **FEW},
        "split-cifar100": LARGE,
        "split-miniimagenet": LARGE,
        "split-tinyimagenet": LARGE,
    }
    boundaries = True
    ignores = (*OCM.ignores, "old_logits")
    lr: Positive = 0.0005
    """learning rate of Adam"""
    prototype_temperature: Positive = 0.5
    """temperature of the prototypes' contrast"""
    mixup_rate: Share = 0.9
    """share of the memory batch that is mixed within itself; the rest are pairs of close classes"""
    mixup_probability: Share = 0.2
    """of mixing, for the part mixed within itself as a whole and for each pair"""

    def extra(self, net: Net, classes: int) -> Extras:
        weight = net.weight("projection")
        return {"prototypes": weight.new_zeros(classes, len(weight))}

    def retrieve(self, me: State, new: Batch) -> Batch | None:
        return Method.retrieve(self, me, new)

    def loss(self, me: State, new: Batch, old: Batch) -> Tensor:
        """Stream: NT_n, OPE and, in the first task, CE. Memory: OPE; NT_uni and CE of mixtures."""
        if not me.later:
            return self.stream_loss(me, new) + self.equilibrium(me, self.projections(me, old), old)
        feedback = Feedback(self.mixup_rate, self.mixup_probability)
        mixed = feedback(me.key("feedback"), me.memory, old, me.extra["prototypes"])
        z_new, z_old = self.features(me, new, Batch(mixed.x, mixed.first))
        y = rotation_labels(mixed.labels(me.classes), me.classes + len(old))
        loss = self.contrast_stream(me, z_new, new) + self.contrast_memory(me, z_old, y)
        logits = me.net(crop_flip_grey(me.key("classify"), mixed.x), self.head)
        loss = loss + mixed_cross_entropy(logits, *mixed.targets, self.softmax_classes(me))
        return loss + self.equilibrium(me, self.projections(me, old), old)

    def contrast_stream(self, me: State, z: Tensor, new: Batch) -> Tensor:
        """NT_n, and OPE on the images that are not rotated and their views."""
        upright = torch.cat([half[: len(new)] for half in z.chunk(2)])
        loss = self.equilibrium(me, unit(me.net.logits(upright, "projection")), new)
        return loss + super().contrast_stream(me, z, new)

    def equilibrium(self, me: State, v: Tensor, batch: Batch) -> Tensor:
        """OPE of a batch and its views, v: [2B, w]."""
        return prototype_equilibrium(v, batch.y, me.classes, self.prototype_temperature)

    def projections(self, me: State, old: Batch, mode: Mode = "train") -> Tensor:
        """Unit projections of a memory batch and a view of it, [2B, w]."""
        x = to_float(old.x, me.net.dtype)
        x = torch.cat([x, crop_flip_grey(me.key("prototypes"), x)])
        return unit(me.net(x, "projection", mode))

    def remember(self, me: State, old: Batch) -> Extras:
        """μ: the class means of this memory batch, as it was before the step."""
        v = self.projections(me, old, "batch")
        return {"prototypes": prototypes(v, old.y.repeat(2), me.classes)}

    def end_task(self, me: State) -> State:
        """The first batch of a task mixes nothing: it has no prototypes."""
        return me.with_extra(prototypes=torch.zeros_like(me.extra["prototypes"]))
