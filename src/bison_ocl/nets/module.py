"""Any nn.Module that maps images to features, as a backbone.

The module is never changed: passes run on a copy, one for each thread, with the parameters given.
"""

from __future__ import annotations

import copy
import threading
from typing import Any

import torch
from torch import Tensor, nn

from bison_ocl.errors import UserError
from bison_ocl.nets.norm import Mode
from bison_ocl.rng import Key


class ModuleBackbone:
    """A user's network. Its own initial weights are the start, whatever the seed."""

    def __init__(self, module: nn.Module, shape: tuple[int, ...]) -> None:
        self._module = copy.deepcopy(module)
        self._copies = threading.local()
        with torch.no_grad():
            z = self._copy("eval")(torch.zeros(2, *shape))
        if z.ndim != 2:
            raise UserError(f"the backbone must return features [B, d], not {list(z.shape)}")
        self.features = int(z.shape[1])

    def parameters(self, key: Key) -> dict[str, Tensor]:
        return self._on(key.bits.device, dict(self._module.named_parameters()))

    def statistics(self, params: dict[str, Tensor]) -> dict[str, Tensor]:
        device = next(iter(params.values())).device
        return self._on(device, dict(self._module.named_buffers()))

    def _on(self, device: torch.device, values: dict[str, Any]) -> dict[str, Tensor]:
        return {name: value.detach().clone().to(device) for name, value in values.items()}

    def _copy(self, mode: Mode) -> nn.Module:
        if not hasattr(self._copies, "module"):
            self._copies.module = copy.deepcopy(self._module)
        module: nn.Module = self._copies.module
        return module.train(mode != "eval")

    def __call__(
        self, params: dict[str, Tensor], stats: dict[str, Tensor], x: Tensor, mode: Mode
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Features; normalisation layers move the copies of the statistics that are returned."""
        moved = {name: value.clone() for name, value in stats.items()}
        z: Tensor = torch.func.functional_call(self._copy(mode), (params, moved), (x,))
        return z, moved
