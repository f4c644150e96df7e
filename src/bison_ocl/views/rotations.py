"""Sixteen rotations of an image, each a class of its own (Guo et al. 2022).

Four local ones turn the left and the right half upside down or leave them; each is then turned as a
whole by 0, 90, 180 and 270 degrees.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl.errors import UserError
from bison_ocl.rng import Key
from bison_ocl.views.crop_flip_grey import crop_flip_grey

ROTATIONS = 16


def rotations(x: Tensor) -> Tensor:
    """All rotations, block by block, the first x itself. [B, C, H, H] -> [16 B, C, H, H]"""
    height, width = x.shape[-2:]
    if height != width:
        raise UserError(f"images of {height}x{width} cannot be rotated: make them square")
    left, right = x[..., : width // 2], x[..., width // 2 :]
    halves = [(left, right), (left, turn(right)), (turn(left), turn(right)), (turn(left), right)]
    local = torch.cat([torch.cat(pair, -1) for pair in halves])
    return torch.cat([local, local.rot90(1, (-2, -1)), turn(local), local.rot90(3, (-2, -1))])


def turn(x: Tensor) -> Tensor:
    """Upside down: by 180 degrees."""
    return x.flip((-2, -1))


def rotation_labels(y: Tensor, classes: int) -> Tensor:
    """A label for every pair of class and rotation: y + classes · r. [B] -> [16 B]"""
    rotation = torch.arange(ROTATIONS, device=y.device)
    return (y + classes * rotation[:, None]).flatten()


def rotated_pairs(key: Key, x: Tensor) -> Tensor:
    """All rotations, then a random view of each, in the same order. [B, ...] -> [32 B, ...]"""
    turned = rotations(x)
    return torch.cat([turned, crop_flip_grey(key, turned)])
