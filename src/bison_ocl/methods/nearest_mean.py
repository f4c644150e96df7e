"""Methods that predict by nearest class mean over their memory (paper, Alg. 1 lines 23-27)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from bison_ocl.inference.nearest_class_mean import NearestClassMean
from bison_ocl.inference.rule import Rule, Summary
from bison_ocl.methods.method import Method
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class NearestMean(Method):
    """Heads are for training only; class means of backbone features predict."""

    ncm_normalise: bool = True
    """unit features and unit means; false: as the paper's Alg. 1 prints it"""

    @property
    def rule(self) -> Rule:
        return NearestClassMean(self.ncm_normalise)

    def summarise(self, me: State) -> Summary:
        return self.rule.summarise(me.net, me.memory, me.classes)

    def predict(self, me: State, summary: Summary, x: Tensor) -> Tensor:
        return self.rule.scores(me.net, summary, x)
