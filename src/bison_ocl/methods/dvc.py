"""Dual view consistency: two views of an image agree; replay by gradient interference.

Gu et al. 2022, "Not Just Selection, but Exploration: Online Class-Incremental Continual Learning
via Dual View Consistency", §3. The official variant: linear head, a joint head Q on the logits of
both views, MGI retrieval that replays the views it scored, with the side effect on running
statistics of scoring in train mode. Deliberate differences: each image has its own augmentation,
and the initial scale of Q is a setting, so that Q can grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch, one_hot
from bison_ocl.bounds import Presets
from bison_ocl.errors import UserError
from bison_ocl.look import BLACK, Look
from bison_ocl.losses.cross_entropy import cross_entropy
from bison_ocl.methods.method import Method, Update
from bison_ocl.nets.heads import Head, Linear
from bison_ocl.nets.joint import Joint
from bison_ocl.nets.net import Net
from bison_ocl.nets.norm import Mode
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class DVC(Method):
    """Replays candidates whose gradient grows most; reservoir update, linear head."""

    title = "ER-DVC"
    kind = "T"
    look = Look(BLACK, (6, 1, 0), "--")
    scored = (100, 100)
    presets: ClassVar[Presets] = {
        "split-cifar100": {"lambda3": 4.0, "joint_classes": 100},
        "split-miniimagenet": {"lambda3": 4.0, "joint_classes": 100},
        "split-tinyimagenet": {"lambda3": 4.0, "joint_classes": 200},
    }
    lambda1: float = 1.0
    """weight of the cross-entropy on both views"""
    lambda2: float = 1.0
    """weight of the negative entropy of mean predictions"""
    lambda3: float = 2.0
    """weight of the distance between joint and single predictions"""
    subsample: int = 50
    """candidates drawn from the memory, of which the most interfered are replayed"""
    mgi_bn_side_effect: bool = True
    """scoring candidates updates the running statistics; false: it does not"""
    joint_classes: int = 10
    """number of classes for which the joint head starts as PyTorch would start it"""

    def __post_init__(self) -> None:
        if self.joint or self.view_mode != "append":
            raise UserError("er-dvc compares pairs of views: use joint=false and view_mode=append")

    def heads(self) -> Mapping[str, Head]:
        return {"linear": Linear(), "joint": Joint(self.joint_classes)}

    def stream_loss(self, me: State, new: Batch) -> Tensor:
        """λ1 CE + λ2 negative entropy + λ3 distance, on [originals; augmented] of any batch."""
        classes = self.softmax_classes(me)
        logits = me.net(new.x, "linear")
        z = torch.stack(logits.chunk(2))
        joint = me.net.logits(z.masked_fill(~classes, 0), "joint")
        ce = cross_entropy(logits, new.y, classes)
        return self.lambda1 * ce + dual_view(z, joint, classes, self.lambda2, self.lambda3)

    def settled_at(self, me: State) -> int:
        return min(self.subsample, me.memory.capacity)

    def update(self, me: State, new: Batch) -> Update:
        """Stream gradient g, a virtual step along it, retrieval by MGI, replay gradient h."""
        stream, g = me.grad(self.stream_loss, *self.view(me, new))
        pool = me.memory.sample(me.key("retrieve"), self.subsample)
        if pool is None:
            return Update(stream, g)
        (views,) = self.view(me, pool, name="replay view")
        ahead = me.net.step(g, self.lr)
        mode: Mode = "train" if self.mgi_bn_side_effect else "batch"
        after = self.gradient_sizes(me, ahead, views, "batch")
        harm = after - self.gradient_sizes(me, me.net, views, mode)
        best = harm.topk(min(self.buffer_batch, len(pool))).indices
        replay, h = me.grad(self.stream_loss, views[torch.cat([best, best + len(pool)])])
        return Update(stream + replay, tree.add(g, h))

    def gradient_sizes(self, me: State, net: Net, views: Batch, mode: Mode) -> Tensor:
        """The gradient size of each original; the augmented ones only share the pass."""
        n = len(views) // 2
        z = net.features(views.x, mode)[:n]
        logits = net.logits(z, "linear")
        return gradient_size(z, logits, views.y[:n], self.softmax_classes(me))


def gradient_size(z: Tensor, logits: Tensor, y: Tensor, classes: Tensor) -> Tensor:
    """‖softmax − one-hot‖₁ · ‖z‖₁: the size of each image's gradient in a linear head (MGI).

    Gu et al. 2022, Eq. 4. z: [B, d], logits: [B, C], classes: bool [C] -> [B]
    """
    p = logits.masked_fill(~classes, -float("inf")).softmax(-1)
    return (p - one_hot(y, logits.shape[-1]).to(p.dtype)).abs().sum(-1) * z.abs().sum(-1)


def dual_view(z: Tensor, joint: Tensor, classes: Tensor, lambda2: float, lambda3: float) -> Tensor:
    """λ2 · mean of Σ p̄ ln p̄ over the three predictions + λ3 · mean |joint − view|.

    z: logits [2, B, C] of both views, joint: [B, C] of the pair; classes: bool [C], those that
    count.
    """
    logits = torch.cat([z, joint[None]]).masked_fill(~classes, -float("inf"))
    p = logits.softmax(-1)
    apart = (p[2] - p[:2]).abs().mean((0, 1)).sum() / classes.sum()
    return lambda2 * negative_entropy(p.mean(1), classes).mean() + lambda3 * apart


def negative_entropy(p: Tensor, classes: Tensor) -> Tensor:
    """Σ p ln p over the classes of a mask; at least −ln C. p: [..., C]"""
    p = p.clamp(min=torch.finfo(p.dtype).eps)
    return (p * p.log() * classes).sum(-1)
