"""OCM: maximise mutual information, contrasting sixteen rotations and the previous model.

Guo, Liu & Zhao 2022, "Online Continual Learning through Mutual Information Maximization" (ICML).
As in the authors' code: own views, no replay in task 1, no stream CE later, teacher in train mode.
Deliberate differences: the memory batch is not cut to 7 images per class; `old_logits` is a set by
default, where the authors' code takes the first k, also on shuffled classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from bison_ocl.batch import Batch, to_float
from bison_ocl.bounds import Positive, Presets
from bison_ocl.look import GREEN, Look
from bison_ocl.methods.method import Method
from bison_ocl.methods.ocm.info_nce import info_nce, paired_info_nce
from bison_ocl.methods.ocm.similarity import random_similarity
from bison_ocl.nets.heads import Head, Linear, LinearProjection, cosine
from bison_ocl.nets.net import Net
from bison_ocl.nets.optimiser import Adam
from bison_ocl.state import Extras, State
from bison_ocl.views.crop_flip_grey import crop_flip_grey
from bison_ocl.views.rotations import rotated_pairs, rotation_labels, rotations


@dataclass(frozen=True, kw_only=True)
class OCM(Method):
    """InfoNCE on stream, memory and previous model; a linear head trained on the memory."""

    title = "OCM"
    kind = "T, F"
    look = Look(GREEN, (3, 1, 0), "--")
    learned: ClassVar[tuple[int, ...]] = (640, 10)
    scored: ClassVar[tuple[int, ...]] = (160, 10)
    presets: ClassVar[Presets] = {
        data: {"kappa": 0.5} for data in ("split-cifar10", "split-digits")
    }
    boundaries = True
    ignores: ClassVar[tuple[str, ...]] = ("joint", "view_mode")
    lr: Positive = 0.001
    """learning rate of Adam"""
    temperature: Positive = 0.07
    """temperature of the contrastive losses"""
    kappa: float = 1.0
    """weight of similarities after the first task"""
    old_logits: Literal["set", "position"] = "set"
    """logits distilled from the previous model: of the k old classes, or the dataset's first k"""

    def heads(self) -> Mapping[str, Head]:
        return {"linear": Linear(), "projection": LinearProjection()}

    def optimiser(self) -> Adam:
        return Adam(self.lr, betas=(0.9, 0.99), weight_decay=1e-4)

    def extra(self, net: Net, classes: int) -> Extras:
        return {"teacher": net.copy()}

    def numbered(self, me: State, order: Tensor) -> State:
        return me if self.old_logits == "set" else me.with_extra(order=order)

    def retrieve(self, me: State, new: Batch) -> Batch | None:
        return super().retrieve(me, new) if me.later else None

    def view(self, me: State, *batches: Batch, name: str = "view") -> list[Batch]:
        return [Batch(to_float(batch.x, me.net.dtype), batch.y) for batch in batches]

    def stream_loss(self, me: State, new: Batch) -> Tensor:
        """NT_n + CE: the loss of the first task."""
        loss = self.contrast_stream(me, me.net.features(rotated_pairs(me.key("new"), new.x)), new)
        z = me.net.features(crop_flip_grey(me.key("classify"), new.x))
        return loss + self.ce(me, z, new.y, self.head)

    def loss(self, me: State, new: Batch, old: Batch) -> Tensor:
        """NT_n of the stream; NT_uni, NT_pre, CE and the distance to old logits of the memory."""
        z_new, z_old = self.features(me, new, old)
        teacher, y = me.extra["teacher"], rotation_labels(old.y, me.classes)
        now = me.net.logits(z_old[: len(y)], "projection")
        before = teacher(rotations(old.x), "projection", "batch")
        loss = self.contrast_stream(me, z_new, new) + self.contrast_memory(me, z_old, y)
        loss = loss + info_nce(cosine(now, before), y, self.temperature)
        z = me.net.features(crop_flip_grey(me.key("classify"), old.x))
        logits = teacher(crop_flip_grey(me.key("teach"), old.x), self.head, "batch")
        loss = loss + squared_error(me.net.logits(z, self.head), logits, self.distilled(me))
        return loss + self.ce(me, z, old.y, self.head)

    def distilled(self, me: State) -> Tensor:
        """Mask of the classes whose logits stay near the previous model's."""
        return me.extra["order"] < me.old.sum() if "order" in me.extra else me.old

    def features(self, me: State, new: Batch, old: Batch) -> tuple[Tensor, Tensor]:
        """Features of the rotated pairs, all in one forward pass."""
        x_new, x_old = rotated_pairs(me.key("new"), new.x), rotated_pairs(me.key("old"), old.x)
        z = me.net.features(torch.cat([x_new, x_old]))
        return z[: len(x_new)], z[len(x_new) :]

    def contrast_stream(self, me: State, z: Tensor, new: Batch) -> Tensor:
        y = rotation_labels(new.y, me.classes)
        return paired_info_nce(self.similarity(me, z, "new slice"), y.repeat(2), self.temperature)

    def contrast_memory(self, me: State, z: Tensor, y: Tensor) -> Tensor:
        return info_nce(self.similarity(me, z, "old slice"), y.repeat(2), self.temperature)

    def similarity(self, me: State, z: Tensor, name: str) -> Tensor:
        """κ (v·φᵀ + v·vᵀ) with a random slice φ of the features."""
        kappa = self.kappa if me.later else 1.0
        return kappa * random_similarity(me.key(name), me.net.logits(z, "projection"), z)

    def end_task(self, me: State) -> State:
        return me.with_extra(teacher=me.net.copy())


def squared_error(logits: Tensor, target: Tensor, classes: Tensor) -> Tensor:
    """Mean over samples and the classes of a mask; 0 for the empty one. [B, C], classes: [C]"""
    squares = (logits - target).square() * classes
    return squares.sum() / (len(logits) * classes.sum().clamp(min=1))
