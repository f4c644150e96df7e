"""Task-wise distillation: keep a teacher's softmax inside each task (Ahn et al. 2021, SS-IL)."""

from __future__ import annotations

import torch
from torch import Tensor


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
