"""Nearest class mean of centred features (Wang et al. 2019, "SimpleShot": CL2N)."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from bison_ocl.inference.features import (
    MemoryFeatures,
    Views,
    memory_features,
    query_features,
    relative,
)
from bison_ocl.inference.nearest_class_mean import Means, class_means
from bison_ocl.memory.memory import Memory
from bison_ocl.nets.heads import unit
from bison_ocl.nets.net import Net


@dataclass(frozen=True)
class CentredMeans:
    """classes: unit means [C, d] relative to the centre [d]."""

    classes: Means
    centre: Tensor


@dataclass(frozen=True)
class CentredClassMean:
    """The class whose mean is nearest, seen from the mean of all class means."""

    views: Views = field(default_factory=Views)

    def summarise(self, net: Net, memory: Memory, classes: int) -> CentredMeans:
        stored = memory_features(net, memory, classes, normalise=True, views=self.views)
        centre = centre_of(stored)
        found = class_means(stored.around(centre))
        return CentredMeans(Means(unit(found.means), found.known), centre)

    def scores(self, net: Net, summary: CentredMeans, x: Tensor) -> Tensor:
        z = query_features(net, x, normalise=True, views=self.views)
        return summary.classes.scores(relative(z, summary.centre))


def centre_of(stored: MemoryFeatures) -> Tensor:
    """The mean of the class means, [d]: classes count alike, however many images they have."""
    classes = class_means(stored)
    return classes.means.sum(0) / classes.known.sum().clamp(min=1)
