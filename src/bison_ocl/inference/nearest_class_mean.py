"""Nearest class mean over the memory (paper, Alg. 1 lines 23-27; Mensink et al. 2013)."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from bison_ocl.inference.features import MemoryFeatures, Views, memory_features, query_features
from bison_ocl.memory.memory import Memory
from bison_ocl.nets.heads import squared_distances, unit
from bison_ocl.nets.net import Net


@dataclass(frozen=True)
class Means:
    """means: [C, d]; known: [C], the classes with at least one stored image."""

    means: Tensor
    known: Tensor

    def scores(self, z: Tensor) -> Tensor:
        """−‖z − μ_c‖²; a class without a stored image is never nearest."""
        return (-squared_distances(z, self.means)).masked_fill(~self.known, -float("inf"))


@dataclass(frozen=True)
class NearestClassMean:
    """The class whose mean feature is nearest."""

    normalise: bool = True
    """unit features and unit means; false: as the paper's Alg. 1 prints it"""
    views: Views = field(default_factory=Views)

    def summarise(self, net: Net, memory: Memory, classes: int) -> Means:
        stored = memory_features(net, memory, classes, self.normalise, self.views)
        means = class_means(stored)
        return Means(unit(means.means), means.known) if self.normalise else means

    def scores(self, net: Net, summary: Means, x: Tensor) -> Tensor:
        return summary.scores(query_features(net, x, self.normalise, self.views))


def class_means(stored: MemoryFeatures) -> Means:
    """μ_c over all stored images of class c; zero for a class without one."""
    count = stored.labels.sum(0)
    return Means(stored.labels.T @ stored.z / count.clamp(min=1)[:, None], count > 0)
