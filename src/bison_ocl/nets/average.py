"""An exponential average of a network over the steps of a run, kept as one vector.

Tarvainen & Valpola 2017; in online continual learning, Soutif-Cormerais et al. 2023. It reads the
trained network and never changes it. One vector, because then two kernels move all of it, however
many layers and stacked runs there are.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.nets.net import Net


def flat(net: Net, stacked: int = 0) -> Tensor:
    """All real numbers of a network, [P]; of stacked runs, which have one more axis, [S, P]."""
    leaves = [leaf for leaf in tree.leaves(net) if leaf.is_floating_point()]
    return torch.cat([leaf.reshape(*leaf.shape[:stacked], -1) for leaf in leaves], dim=-1)


def unflat(average: Tensor, net: Net) -> Net:
    """A network with the numbers of an average, in the form of `net`; whole numbers are `net`'s."""
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
    """The average after a step; of a run whose step was refused, as it was.

    Step t weighs 1 − min(decay, (1 + t) / (10 + t)), so that the first weights are soon forgotten.
    """
    t = step.to(average.dtype)
    weight = 1 - ((1 + t) / (10 + t)).clamp(max=decay)
    return torch.lerp(average, flat(net, ok.ndim), weight.masked_fill(~ok, 0)[..., None])
