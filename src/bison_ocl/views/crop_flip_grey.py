"""A view without colour jitter: resized crop, flip, greyscale (Guo et al. 2022).

Boxes lie on whole pixels and are interpolated inside the box. The authors' sample a grid of half
pixels with reflection at the image's border: the same boxes, at most half a pixel further out.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl.rng import Key, uniforms
from bison_ocl.views.colour import grey
from bison_ocl.views.crop import TRIES, crop, random_box

SMALLEST = 0.3


def crop_flip_grey(key: Key, x: Tensor) -> Tensor:
    """A random view of each image. x: [B, 3, H, W] in [0, 1]; draws do not depend on the dtype."""
    n, _, height, width = x.shape
    each = (n, 1, 1, 1)
    box = {"area": (n, TRIES), "aspect": (n, TRIES), "top": (n,), "left": (n,)}
    u = uniforms(key, box | {"flip": each, "grey": each})
    place = u["area"], u["aspect"], u["top"], u["left"]
    view = x.to(torch.promote_types(x.dtype, torch.float32))
    view = crop(view, random_box(*place, (height, width), SMALLEST))
    view = torch.where(u["flip"] < 0.5, view.flip(-1), view)
    view = torch.where(u["grey"] < 0.25, grey(view), view)
    return view.to(x.dtype)
