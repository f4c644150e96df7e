"""Methods that predict by nearest class mean over their memory (paper, Alg. 1 lines 23-27)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from bison_ocl.memory.ncm import Means, class_means, nearest_mean
from bison_ocl.methods.method import Method
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class NearestMean(Method):
    """The heads are only for training; at test time class means of backbone features decide."""

    ncm_normalise: bool = True
    """unit features and unit means; false: as the paper's Alg. 1 prints it"""

    def summarise(self, me: State) -> Means:
        return class_means(me.net, me.memory, me.classes, self.ncm_normalise)

    def predict(self, me: State, summary: Means, x: Tensor) -> Tensor:
        return nearest_mean(me.net.features(x, "eval"), summary, self.ncm_normalise)
