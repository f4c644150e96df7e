"""InfoNCE with labels, which bounds a mutual information from below (Guo et al. 2022).

Entries share the row's probability mass: p_ij = e_ij / Σ_j e_ij, e_ij = exp((s_ij − max_j s_ij)/τ).
"""

from __future__ import annotations

import torch
from torch import Tensor

EPSILON = 1e-8
"""Added to the sum and inside the logarithm, as the authors' code has it."""


def info_nce(similarity: Tensor, y: Tensor, temperature: float) -> Tensor:
    """Mean over rows of −log p over the columns of the row's label. similarity: [n, n], y: [n]"""
    return class_mean(code_lengths(exponentials(similarity, temperature)), y)


def paired_info_nce(similarity: Tensor, y: Tensor, temperature: float) -> Tensor:
    """Rows are B items and B other views of them; no row sees itself. similarity: [2B, 2B]

    The other view's −log p, plus twice the mean over the columns of the row's label; there the row
    itself counts with the constant −log ε.
    """
    others = ~torch.eye(len(y), dtype=torch.bool, device=y.device)
    lengths = code_lengths(exponentials(similarity, temperature) * others)
    other_view = lengths.roll(len(y) // 2, dims=1).diagonal()
    return other_view.mean() + 2 * class_mean(lengths, y)


def exponentials(similarity: Tensor, temperature: float) -> Tensor:
    """e_ij, at most 1."""
    highest = similarity.detach().amax(dim=1, keepdim=True)
    return ((similarity - highest) / temperature).exp()


def code_lengths(exponentials: Tensor) -> Tensor:
    """−log p_ij"""
    total = exponentials.sum(dim=1, keepdim=True)
    return -(exponentials / (total + EPSILON) + EPSILON).log()


def class_mean(lengths: Tensor, y: Tensor) -> Tensor:
    """The mean over rows of the mean over columns of the same label."""
    same = (y[:, None] == y).to(lengths.dtype)
    return ((same * lengths).sum(1) / same.sum(1)).mean()
