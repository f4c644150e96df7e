"""Exponential average of a network over the steps of a run, as one vector.

Tarvainen & Valpola 2017; in online continual learning, Soutif-Cormerais et al. 2023. It never
changes the trained network. With one vector, few kernels update all layers of all stacked runs.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.nets.kernels.leaves import averaged
from bison_ocl.nets.net import Net


def flat(net: Net) -> Tensor:
    """All floats of a network, [P]."""
    return torch.cat([leaf.reshape(-1) for leaf in tree.leaves(net) if leaf.is_floating_point()])


def unflat(average: Tensor, net: Net) -> Net:
    """A network like `net` with the floats of an average; integers are those of `net`."""
    taken = 0

    def part(leaf: Tensor) -> Tensor:
        nonlocal taken
        if not leaf.is_floating_point():
            return leaf
        first, taken = taken, taken + leaf[(0,) * (average.ndim - 1)].numel()
        values = average[..., first:taken].reshape(leaf.shape)
        return torch.empty_like(leaf).copy_(values)  # keeps the memory format of weights

    return tree.map_leaves(part, net)


def moved(average: Tensor, net: Net, step: Tensor, decay: float, ok: Tensor) -> Tensor:
    """The average after a step; unchanged if the step was refused.

    Step t has weight 1 − min(decay, (1 + t) / (10 + t)), so that the first steps fade quickly.
    """
    t = step.to(average.dtype)
    weight = 1 - ((1 + t) / (10 + t)).clamp(max=decay)
    return averaged(average, net, weight.masked_fill(~ok, 0))
