"""Interface of an inference rule: summarise the memory, score images."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from bison_ocl.memory.memory import Memory
from bison_ocl.nets.net import Net

Summary = Any
"""a tree of tensors that scoring needs; each rule and each method chooses its form"""


class Rule(Protocol):
    """Pure functions of a network and a memory; they see one run, and work under vmap."""

    def summarise(self, net: Net, memory: Memory, classes: int) -> Summary:
        """The summary for scoring, computed once per evaluation."""
        ...

    def scores(self, net: Net, summary: Summary, x: Tensor) -> Tensor:
        """[B, C] for float images x [B, 3, H, W]; −∞ for a class without a stored image."""
        ...
