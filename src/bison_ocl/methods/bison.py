"""BISON: dual classifiers with inclusive separation and implicit knowledge interaction.

Wen, Heinis & Choi 2026, "Balanced Online Class-Incremental Learning via Dual Classifiers", Alg. 1.
α is σ(a) of a learned a; losses cover all C classes, as the paper's numbers, not its text, suggest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from torch import Tensor

from bison_ocl.batch import Batch, present
from bison_ocl.bounds import Positive, Presets
from bison_ocl.errors import UserError
from bison_ocl.look import VERMILION, Look
from bison_ocl.losses.interaction import alignment, proxy_anchor
from bison_ocl.methods.nearest_mean import NearestMean
from bison_ocl.nets.heads import Cosine, Head, Linear
from bison_ocl.nets.net import Net
from bison_ocl.state import Extras, State


@dataclass(frozen=True, kw_only=True)
class Bison(NearestMean):
    """Stream and buffer classifiers over one backbone; predicts by nearest class mean."""

    title = "BISON"
    look = Look(VERMILION, (5, 1, 0), width=2.4)
    presets: ClassVar[Presets] = {
        data: {"beta": 0.2, "lambda_": 10.0}
        for data in ("split-cifar100", "split-miniimagenet", "split-tinyimagenet")
    }
    head = "stream"
    boundaries = True
    beta: float = 0.1
    """weight of the proxy-anchor loss"""
    lambda_: float = 3.0
    """weight of the alignment"""
    gamma: Positive = 32.0
    """scale inside the proxy-anchor loss"""
    delta: float = 0.1
    """margin of the proxy-anchor loss"""
    eta: float = 1.0
    """initial scale of both classifiers"""
    pal_seen_only: bool = False
    """ignore proxies of unseen classes"""
    dc: bool = True
    """two cosine classifiers; false: one linear head (ablation)"""
    pal: Literal["bs", "sb", "off"] = "bs"
    """bs: buffer features shape stream vectors; sb: stream features, buffer vectors"""
    paf: Literal["sb", "bs", "off"] = "sb"
    """sb: align the buffer classifier with stream vectors; bs: the reverse"""

    def __post_init__(self) -> None:
        if not self.dc and (self.paf != "off" or self.pal == "sb"):
            raise UserError("dc=false leaves one classifier: add paf=off, and pal=bs or pal=off")

    def heads(self) -> Mapping[str, Head]:
        head = Cosine(self.eta)
        return {"stream": head, "buffer": head} if self.dc else {"stream": Linear()}

    def scalars(self) -> Mapping[str, float]:
        return {"a": 0.0} if self.dc else {}

    def extra(self, net: Net, classes: int) -> Extras:
        return {"previous": net.weight("stream").new_zeros(classes).bool()}

    def remember(self, me: State, old: Batch) -> Extras:
        """The labels of this buffer batch, for the next step's alignment (Alg. 1 line 21)."""
        return {"previous": present(old.y, me.classes)}

    def loss(self, me: State, new: Batch, old: Batch) -> Tensor:
        """L = L_DC + β L_PAL + λ L_Align (Eq. 5)."""
        z_d, z_m = self.features(me, new, old)
        loss = self.loss_dc(me, z_d, new.y, z_m, old.y)
        w = me.net.weight
        if self.pal != "off":  # Eq. 3: features shape the vectors of a classifier, their proxies
            z, y, head = (z_m, old.y, "stream") if self.pal == "bs" else (z_d, new.y, "buffer")
            proxies = me.seen if self.pal_seen_only else me.live
            loss = loss + self.beta * proxy_anchor(z, y, w(head), self.gamma, self.delta, proxies)
        if self.paf != "off":  # Eq. 4: over the labels of the previous buffer batch
            taught, teacher = ("buffer", "stream") if self.paf == "sb" else ("stream", "buffer")
            loss = loss + self.lambda_ * alignment(w(taught), w(teacher), me.extra["previous"])
        return loss

    def loss_dc(self, me: State, z_d: Tensor, y_d: Tensor, z_m: Tensor, y_m: Tensor) -> Tensor:
        """L_DC = CE_str^D + α CE_str^M + (1 − α) CE_buf^M (Eq. 2)."""
        stream, replay = self.ce(me, z_d, y_d, "stream"), self.ce(me, z_m, y_m, "stream")
        if not self.dc:
            return stream + replay
        alpha = me.net.scalar("a").sigmoid()
        return stream + alpha * replay + (1 - alpha) * self.ce(me, z_m, y_m, "buffer")

    def end_task(self, me: State) -> State:
        """Reset α for the next task (Alg. 1 line 3)."""
        return replace(me, net=me.net.with_scalar("a", 0.0)) if self.dc else me

    def log(self, me: State) -> dict[str, Tensor]:
        alpha = {"alpha": me.net.scalar("a").sigmoid()} if self.dc else {}
        return alpha | super().log(me)
