"""Features for inference rules: of stored images and of images to classify.

`normalise` scales features to unit length.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from bison_ocl.batch import one_hot, to_float
from bison_ocl.memory.memory import Memory
from bison_ocl.nets.heads import unit
from bison_ocl.nets.net import Net
from bison_ocl.views.crop import central_crop

CHUNK = 500
"""most images per pass on a CPU"""
ON_CPU, ON_GPU = 2**16, 2**20
"""pixels per pass: on a CPU what is between two layers should stay in its cache; on a GPU passes
are large, because each launches its kernels again, but limit the memory of an evaluation"""


def in_chunks(x: Tensor) -> tuple[Tensor, ...]:
    """Images for one pass each. x: [..., n, C, H, W]

    On a CPU the parts differ by one image at most, because a pass over a single image may round
    differently.
    """
    most = at_once(x.shape[-2] * x.shape[-1], x.is_cuda)
    if x.is_cuda:
        return torch.split(x, most, dim=-4)
    return torch.tensor_split(x, max(1, -(-x.shape[-4] // most)), dim=-4)


def at_once(pixels: int, on_gpu: bool) -> int:
    """Images of so many pixels in one pass."""
    return max(1, ON_GPU // pixels if on_gpu else min(CHUNK, ON_CPU // pixels))


@dataclass(frozen=True)
class Views:
    """Views of an image that are read besides the image itself."""

    mirror: bool = False
    """its mirror image: stored images count twice, the features of one to classify are added"""
    crop: float = 1.0
    """the central part of an image to classify and of its mirror image, of this share of its sides:
    networks trained on random crops see larger objects than whole images show (Touvron et al. 2019,
    "Fixing the train-test resolution discrepancy"); 1 for none"""

    def of(self, x: Tensor) -> list[Tensor]:
        """An image to classify and its views."""
        views = [x, x.flip(-1)] if self.mirror else [x]
        return views + [central_crop(view, self.crop) for view in views if self.crop < 1]


@dataclass(frozen=True)
class MemoryFeatures:
    """z: [N, d] of the memory's rows; labels: [N, C], one-hot, zeros for a row without an image."""

    z: Tensor
    labels: Tensor

    def around(self, centre: Tensor | None) -> MemoryFeatures:
        return replace(self, z=relative(self.z, centre))


def relative(z: Tensor, centre: Tensor | None) -> Tensor:
    """Features relative to a centre [d], of unit length; as they are without one."""
    return z if centre is None else unit(z - centre)


def memory_features(
    net: Net, memory: Memory, classes: int, normalise: bool, views: Views
) -> MemoryFeatures:
    """Features of all stored images, without augmentation."""
    rows = memory.filled
    if rows == 0:
        z = memory.y.new_zeros((1, net.design.backbone.features), dtype=net.dtype)
        labels = torch.zeros_like(one_hot(memory.y[:1], classes), dtype=net.dtype)
        return MemoryFeatures(z, labels)
    chunks = list(in_chunks(memory.x[:rows]))
    chunks += [chunk.flip(-1) for chunk in chunks] if views.mirror else []
    z = torch.cat([net.features(to_float(chunk, net.dtype), "eval") for chunk in chunks])
    used = memory.used[:rows, None]
    labels = (one_hot(memory.y[:rows], classes) & used).to(z.dtype)
    if views.mirror:
        labels, used = torch.cat([labels, labels]), torch.cat([used, used])
    # An empty row is a black image; a backbone that divides by its deviation makes it NaN.
    z = z.masked_fill(~used, 0)
    return MemoryFeatures(unit(z) if normalise else z, labels)


def query_features(net: Net, x: Tensor, normalise: bool, views: Views) -> Tensor:
    """Features of images to classify, [B, d]; renormalised after adding those of their views."""
    first, *others = [feature(net, view, normalise) for view in views.of(x)]
    if not others:
        return first
    z = sum(others, first)
    return unit(z) if normalise else z / (1 + len(others))


def feature(net: Net, x: Tensor, normalise: bool) -> Tensor:
    z = net.features(x, "eval")
    return unit(z) if normalise else z
