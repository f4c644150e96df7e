"""SS-IL: old and new classes never compete; a teacher preserves each old task.

Ahn et al. 2021, "SS-IL: Separated Softmax for Incremental Learning".
The official loss (one mean over stream and memory, task-wise distillation on both) online: constant
learning rate; replay may show current classes, which then count as new. New classes are those of
the task so far. Variants: `online`, the port in the code of Caccia et al. 2022 (replays old classes
only, from the second task on; two means; distils the replayed images, without T²); `trick`, that in
the code of Mai et al. 2021 (two means, no teacher).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.bounds import Positive
from bison_ocl.look import ORANGE, Look
from bison_ocl.methods.method import Method
from bison_ocl.nets.net import Net
from bison_ocl.rng import uniform
from bison_ocl.state import Extras, State


@dataclass(frozen=True, kw_only=True)
class SSIL(Method):
    """Separated softmax, and a copy of the network at the last task's end as teacher."""

    title = "SS-IL"
    kind = "T"
    look = Look(ORANGE, "D", "--")
    scored = (40,)
    ignores = ("ce_over_seen",)
    boundaries = True
    variant: Literal["official", "online", "trick"] = "official"
    """the authors' loss; its port to online streams; the separated softmax alone"""
    temperature: Positive = 2.0
    """of the distillation"""

    def extra(self, net: Net, classes: int) -> Extras:
        return {} if self.variant == "trick" else {"teacher": net.copy()}

    def end_task(self, me: State) -> State:
        return me if self.variant == "trick" else me.with_extra(teacher=me.net.copy())

    def retrieve(self, me: State, new: Batch) -> Batch | None:
        if self.variant != "online":
            return super().retrieve(me, new)
        n = min(self.buffer_batch, me.memory.filled) if me.later else 0
        return me.memory.rows(rows_of_old_classes(me, n)) if n else None

    def ce(self, me: State, z: Tensor, y: Tensor, head: str) -> Tensor:
        """Softmax over the old classes for an old label, over the new ones for a new label."""
        parts = me.new.long() - me.old.long()
        return separated_softmax(me.net.logits(z, head), y, parts)

    def loss(self, me: State, new: Batch, old: Batch) -> Tensor:
        z_new, z_old = self.features(me, new, old)
        if self.variant == "official":
            z = torch.cat([z_new, z_old])
            return self.distilled_ce(me, z, new + old, self.temperature**2)
        stream = self.ce(me, z_new, new.y, self.head)
        if self.variant == "trick":
            return stream + self.ce(me, z_old, old.y, self.head)
        return stream + self.distilled_ce(me, z_old, old, 1.0)

    def distilled_ce(self, me: State, z: Tensor, batch: Batch, weight: float) -> Tensor:
        """L_CE + weight · L_KD, the latter once there is a teacher."""
        ce = self.ce(me, z, batch.y, self.head)
        if not me.later:
            return ce
        teacher = me.extra["teacher"](batch.x, self.head, "eval")
        student = me.net.logits(z, self.head)
        kd = taskwise_distillation(student, teacher, me.table, me.old, self.temperature)
        return ce + weight * kd


def rows_of_old_classes(me: State, n: int) -> Tensor:
    """n slots with images of old classes, at random; if fewer are left, they repeat."""
    used = me.memory.used
    old = used & me.old[me.memory.y[:-1].masked_fill(~used, 0)]
    scores = uniform(me.key("retrieve"), old.shape) + old
    drawn = scores.masked_fill(~used, -1.0).topk(n).indices
    return drawn[torch.arange(n, device=drawn.device) % old.sum().clamp(1, n)]


def separated_softmax(logits: Tensor, y: Tensor, parts: Tensor) -> Tensor:
    """Mean of −log softmax over the classes of the label's part. logits: [B, C], y: [B]

    parts: [C], a number for each class; equal numbers share a softmax.
    """
    return F.cross_entropy(logits.masked_fill(parts[y][:, None] != parts, -float("inf")), y)


def taskwise_distillation(
    student: Tensor, teacher: Tensor, tasks: Tensor, classes: Tensor, temperature: float
) -> Tensor:
    """Σ_τ KL(teacher ‖ student) of softmaxes over the classes of task τ, mean over the batch.

    student, teacher: logits [B, C]; tasks: [C], each class's task; only `classes` [C] count.
    """
    p, q = (segment_log_softmax(logits / temperature, tasks) for logits in (teacher, student))
    divergence = p.exp() * (p - q)
    return divergence.masked_fill(~classes, 0).sum(1).mean()


def segment_log_softmax(logits: Tensor, segments: Tensor) -> Tensor:
    """Log-softmax of each row inside every segment of classes. logits: [B, C], segments: [C]"""
    same = segments[:, None] == segments
    numbers = torch.arange(len(segments), device=segments.device)
    first = torch.where(same, numbers, len(segments)).amin(1).expand_as(logits)
    lowest = torch.full_like(logits, -float("inf"))
    peak = lowest.scatter_reduce(1, first, logits.detach(), "amax").gather(1, first)
    # A product with a mask adds in a fixed order; scattered sums do not on a GPU.
    return logits - peak - ((logits - peak).exp() @ same.to(logits.dtype)).log()
