"""The random view of replay methods: crop, flip, colour jitter, greyscale."""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl.rng import Key, uniforms
from bison_ocl.views.colour import grey, jitter
from bison_ocl.views.crop import TRIES, crop, random_box


def augment(key: Key, x: Tensor) -> Tensor:
    """A random view of each image (Lin et al. 2023, PCR, as its code does it).

    x: [B, 3, H, W] in [0, 1], of any float dtype; the draws do not depend on it.
    """
    n, _, height, width = x.shape
    u = uniforms(key, draws(n))
    view = x.to(torch.promote_types(x.dtype, torch.float32))
    view = crop(view, random_box(u["area"], u["aspect"], u["top"], u["left"], (height, width), 0.2))
    view = torch.where(u["flip"] < 0.5, view.flip(-1), view)
    jittered = jitter(view, 0.6 + 0.8 * u["factor"], 0.2 * u["turns"] - 0.1, u["order"])
    view = torch.where(u["jitter"] < 0.8, jittered, view)
    view = torch.where(u["grey"] < 0.2, grey(view), view)
    return view.to(x.dtype)


def draws(n: int) -> dict[str, tuple[int, ...]]:
    """The shapes of the uniform draws that n images need."""
    each = (n, 1, 1, 1)
    return {
        "area": (n, TRIES),
        "aspect": (n, TRIES),
        "top": (n,),
        "left": (n,),
        "flip": each,
        "jitter": each,
        "factor": (3, *each),
        "turns": each,
        "order": (4, *each),
        "grey": each,
    }
