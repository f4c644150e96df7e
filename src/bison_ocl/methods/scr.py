"""SCR: supervised contrastive replay, classified by nearest class mean.

Mai et al. 2021, "Supervised Contrastive Replay: Revisiting the Nearest Class Mean Classifier ...".
The authors' code without its review trick; buffer batch 10 and temperature 0.07 as the BISON paper
has them (their configuration: 100 and 0.1). The first step, with nothing to replay, learns nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.bounds import Positive
from bison_ocl.errors import UserError
from bison_ocl.look import GREEN, Look
from bison_ocl.losses.supervised_contrastive import supervised_contrastive
from bison_ocl.methods.method import Update
from bison_ocl.methods.nearest_mean import NearestMean
from bison_ocl.nets.heads import Head, Projection, unit
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class SCR(NearestMean):
    """A projection head for training only; class means of backbone features predict."""

    title = "SCR"
    kind = "F"
    look = Look(GREEN, "d")
    head = "projection"
    ignores = ("ce_over_seen",)
    temperature: Positive = 0.07
    """of the contrast between views"""
    joint: bool = True
    """stream and memory share passes, one of originals, one of augmented images; false: apart"""

    def __post_init__(self) -> None:
        if self.view_mode == "replace":
            raise UserError("scr contrasts an image with its augmented view: use view_mode=append")

    def heads(self) -> Mapping[str, Head]:
        return {self.head: Projection(128)}

    def update(self, me: State, new: Batch) -> Update:
        return super().update(me, new) if me.memory.filled else Update.none(me)

    def features(self, me: State, new: Batch, old: Batch) -> tuple[Tensor, Tensor]:
        """z_D and z_M; jointly, the originals of both pass first, then their augmented views."""
        if not self.joint:
            return super().features(me, new, old)
        n, m = len(new) // 2, len(old) // 2
        originals = me.net.features(torch.cat([new.x[:n], old.x[:m]]))
        augmented = me.net.features(torch.cat([new.x[n:], old.x[m:]]))
        z_new = torch.cat([originals[:n], augmented[:n]])
        return z_new, torch.cat([originals[n:], augmented[n:]])

    def loss(self, me: State, new: Batch, old: Batch) -> Tensor:
        """One contrast over the projected views of both batches."""
        z, y = torch.cat(self.features(me, new, old)), torch.cat([new.y, old.y])
        v = unit(me.net.logits(z, self.head))
        return supervised_contrastive(v, y, self.temperature)
