"""Nearest class mean over the memory (paper, Alg. 1 lines 23-27; Mensink et al. 2013)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from bison_ocl.inference.features import (
    MemoryFeatures,
    memory_features,
    query_features,
    relative,
)
from bison_ocl.memory.memory import Memory
from bison_ocl.nets.heads import squared_distances, unit
from bison_ocl.nets.net import Net


@dataclass(frozen=True)
class Means:
    """means: [C, d]; known: [C], the classes with at least one stored image."""

    means: Tensor
    known: Tensor
    centre: Tensor | None = None
    """[d]: what features are relative to, if they are centred"""


@dataclass(frozen=True)
class NearestClassMean:
    """The class whose mean feature is nearest."""

    normalise: bool = True
    """unit features and unit means; false: as the paper's Alg. 1 prints it"""
    mirror: bool = False
    """with mirror images of stored images and of those to classify"""
    crop: float = 1.0
    """with the central part of images to classify, of this share of their sides"""
    centred: bool = False
    """unit features relative to the mean of the class means (Wang et al. 2019, "SimpleShot")"""

    def summarise(self, net: Net, memory: Memory, classes: int) -> Means:
        stored = memory_features(net, memory, classes, self.normalise, self.mirror)
        centre = centre_of(stored) if self.centred else None
        found = class_means(stored.around(centre))
        means = unit(found.means) if self.normalise else found.means
        return Means(means, found.known, centre)

    def scores(self, net: Net, summary: Means, x: Tensor) -> Tensor:
        """−‖z − μ_c‖²; a class without a stored image is never nearest."""
        z = relative(query_features(net, x, self.normalise, self.mirror, self.crop), summary.centre)
        return (-squared_distances(z, summary.means)).masked_fill(~summary.known, -float("inf"))


def class_means(stored: MemoryFeatures) -> Means:
    """μ_c over all stored images of class c; zero for a class without one."""
    count = stored.labels.sum(0)
    return Means(stored.labels.T @ stored.z / count.clamp(min=1)[:, None], count > 0)


def centre_of(stored: MemoryFeatures) -> Tensor:
    """The mean of the class means, [d]: classes count alike, however many images they have."""
    classes = class_means(stored)
    return classes.means.sum(0) / classes.known.sum().clamp(min=1)
