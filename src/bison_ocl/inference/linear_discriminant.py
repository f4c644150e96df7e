"""Linear discriminant over the memory: class means and one shared covariance.

Fisher 1936, shrunk as by Friedman 1989; on the features of a network in a stream, Hayes & Kanan
2020 ("Deep SLDA"), with running sums; this rule reads the memory instead. Equal priors.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from bison_ocl.inference.centred_class_mean import centre_of
from bison_ocl.inference.features import (
    MemoryFeatures,
    Views,
    memory_features,
    query_features,
    relative,
)
from bison_ocl.inference.nearest_class_mean import class_means
from bison_ocl.memory.memory import Memory
from bison_ocl.nets.heads import unit
from bison_ocl.nets.net import Net


@dataclass(frozen=True)
class Discriminant:
    """weight: [C, d] and bias: [C] of a linear classifier; known: [C], classes with an image."""

    weight: Tensor
    bias: Tensor
    known: Tensor
    centre: Tensor | None = None
    """[d]: what features are relative to, if they are centred"""


@dataclass(frozen=True)
class LinearDiscriminant:
    """The most likely class under one covariance shared by all classes."""

    shrinkage: float = 3.0
    """how many times the covariance's mean diagonal is added to its diagonal"""
    views: Views = field(default_factory=Views)
    centred: bool = False
    """features relative to the mean of the class means; they and class means have unit length"""

    def summarise(self, net: Net, memory: Memory, classes: int) -> Discriminant:
        stored = memory_features(net, memory, classes, normalise=True, views=self.views)
        centre = centre_of(stored) if self.centred else None
        return discriminant(stored.around(centre), self.shrinkage, centre)

    def scores(self, net: Net, summary: Discriminant, x: Tensor) -> Tensor:
        z = query_features(net, x, normalise=True, views=self.views)
        z = relative(z, summary.centre)
        return (z @ summary.weight.T + summary.bias).masked_fill(~summary.known, -float("inf"))


def discriminant(stored: MemoryFeatures, shrinkage: float, centre: Tensor | None) -> Discriminant:
    """w_c = Σ⁻¹ μ_c and b_c = −½ μ_cᵀ Σ⁻¹ μ_c.

    Around a centre, class means of unit length: how close together the stored images of a class
    lie does not favour the class.
    """
    classes = class_means(stored)
    covariance = within_class_covariance(stored, classes.means)
    means = classes.means if centre is None else unit(classes.means)
    weight = torch.linalg.solve(shrunk(covariance, shrinkage), means.T).T
    return Discriminant(weight, -(weight * means).sum(1) / 2, classes.known, centre)


def within_class_covariance(stored: MemoryFeatures, means: Tensor) -> Tensor:
    """The within-class covariance of the features, [d, d]."""
    used = stored.labels.sum(1, keepdim=True)
    centred = (stored.z - stored.labels @ means) * used
    return centred.T @ centred / used.sum().clamp(min=1)


def shrunk(covariance: Tensor, shrinkage: float) -> Tensor:
    """The covariance with a larger diagonal, so that it is invertible with few images.

    If the covariance is zero, as with one image per class, the identity replaces it, and the rule
    becomes nearest class mean. A shrinkage that rounding would lose counts as the least that it
    keeps.
    """
    mean, eps = covariance.diagonal().mean(), torch.finfo(covariance.dtype).eps
    none = mean <= eps**2
    added = torch.where(none, 1.0, max(shrinkage, len(covariance) * eps) * mean)
    return covariance + added * torch.eye(len(covariance), dtype=mean.dtype, device=mean.device)
