"""Use any nn.Module that maps images to features as a backbone.

The module is never changed: passes run on a copy per thread, with the given parameters. A module
without trainable parameters is frozen: it runs in eval mode always, and only heads train.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from bison_ocl.errors import UserError, first_line
from bison_ocl.nets.norm import Mode
from bison_ocl.rng import Key
from bison_ocl.threads import PerThread
from bison_ocl.tree import Tensors

Normalise = tuple[tuple[float, ...], tuple[float, ...]]
"""mean and standard deviation of each of three channels"""
TRIAL = 2
"""images of the pass that a module is tried with"""


class ModuleBackbone:
    """A user's network, which starts with its own weights for any seed."""

    shares_passes = False

    def __init__(
        self, module: nn.Module, shape: tuple[int, ...], normalise: Normalise | None = None
    ) -> None:
        """normalise: mean and standard deviation of each channel, for images in [0, 1]"""
        self.module, self.normalise = copy.deepcopy(module), normalise
        self.features = width_of(self.module, shape)
        self.frozen = not any(value.requires_grad for value in module.parameters())
        self._masks = {n: b for n, b in self.module.named_buffers() if not bool(b.isfinite().all())}
        """buffers such as an attention mask of −∞, which no step changes, checks or averages"""
        self._copies = PerThread()

    def parameters(self, key: Key) -> Tensors:
        named = self.module.named_parameters()
        return self._on(key.bits.device, {n: value for n, value in named if value.requires_grad})

    def statistics(self, params: Tensors) -> Tensors:
        """Buffers, except masks, and frozen parameters."""
        named = self.module.named_parameters()
        frozen = {name: value for name, value in named if not value.requires_grad}
        device = next((value.device for value in params.values()), torch.device("cpu"))
        buffers = {n: b for n, b in self.module.named_buffers() if n not in self._masks}
        return self._on(device, frozen | buffers)

    def start_from(self, params: Tensors, stats: Tensors) -> None:
        """Make these weights and statistics the initial ones of the module."""
        tensors = dict(self.module.named_parameters()) | dict(self.module.named_buffers())
        with torch.no_grad():
            for name, value in (params | stats).items():
                tensors[name].copy_(value)

    def _on(self, device: torch.device, values: dict[str, Any]) -> Tensors:
        return {name: value.detach().clone().to(device) for name, value in values.items()}

    def _copy(self, mode: Mode) -> nn.Module:
        if not hasattr(self._copies, "module"):
            self._copies.module = copy.deepcopy(self.module)
        module: nn.Module = self._copies.module
        return module.train(mode != "eval")

    def __call__(
        self, params: Tensors, stats: Tensors, x: Tensor, mode: Mode, parts: int = 1
    ) -> tuple[Tensor, Tensors]:
        """Features, and the statistics as updated by normalisation layers."""
        if self.normalise is not None:
            mean, deviation = (x.new_tensor(part)[:, None, None] for part in self.normalise)
            x = (x - mean) / deviation
        masks = {name: value.to(x.device) for name, value in self._masks.items()}
        if self.frozen:  # changes nothing, so that nothing is copied
            z: Tensor = torch.func.functional_call(self._copy("eval"), (stats, masks), (x,))
            return z, stats
        moved = {name: value.clone() for name, value in stats.items()}
        z = torch.func.functional_call(self._copy(mode), (params, moved, masks), (x,))
        return z, moved


def width_of(module: nn.Module, shape: tuple[int, ...]) -> int:
    """The length of a feature vector, from a trial pass; refuses an unsuitable module."""
    try:
        with torch.no_grad():  # called as in steps, because TorchScript cannot be
            z = torch.func.functional_call(module.eval(), {}, (torch.zeros(TRIAL, *shape),))
    except Exception as error:
        message = f"the backbone cannot take images {list(shape)}: {first_line(error)}"
        raise UserError(message) from error
    if not (isinstance(z, Tensor) and z.ndim == 2 and len(z) == TRIAL and z.shape[1] > 0):
        found = list(z.shape) if isinstance(z, Tensor) else type(z).__name__
        raise UserError(f"the backbone must return features [B, d], not {found} for B = {TRIAL}")
    if z.dtype != torch.float32:
        raise UserError(f"the backbone's features must be float32, not {z.dtype}: add .float()")
    return int(z.shape[1])
