"""Pictures as people have them: PIL images, paths, bytes of files, arrays of different sizes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bison_ocl.errors import UserError, reason
from bison_ocl.learner.images.arrays import array_to_bytes

LARGEST = 256 * 2**20
"""bytes of an image file"""


def is_picture(value: Any) -> bool:
    """Whether it is one picture that is no array."""
    return isinstance(value, str | os.PathLike | bytes | bytearray) or is_pil(value)


def is_pil(value: Any) -> bool:
    """Without importing PIL: who has an image of it has imported it."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


def are_pictures(images: Any) -> bool:
    """Whether a list holds files, PIL images, grey arrays [H, W], or images of several sizes."""
    if not isinstance(images, list | tuple):
        return False
    shapes = {np.shape(one) for one in images if hasattr(one, "shape")}
    return len(shapes) > 1 or any(len(s) == 2 for s in shapes) or any(map(is_picture, images))


def pixels(images: Sequence[Any], side: int | None) -> Tensor:
    """Bytes [N, 3, H, W]; squares of `side` pixels, or of the size that all have."""
    found = [one_picture(one, number, side) for number, one in enumerate(images)]
    sizes = {tuple(x.shape[1:]): None for x in found}
    if len(sizes) > 1:
        (height, width), (other_height, other_width) = list(sizes)[:2]
        raise UserError(
            f"images differ in size ({height}x{width}, {other_height}x{other_width}, ...): "
            f"make the learner with image_size=, such as image_size={min(height, width)}"
        )
    return torch.stack(found)


def one_picture(image: Any, number: int, side: int | None) -> Tensor:
    """Bytes [3, H, W] of one picture; errors call it by its path or its number."""
    from bison_ocl.data.reading.budget import read_regular
    from bison_ocl.data.reading.decode import decode, finished

    name = str(image) if isinstance(image, str | os.PathLike) else f"image {number}"
    if isinstance(image, str | os.PathLike):
        try:
            image = read_regular(Path(image), LARGEST)
        except OSError as error:
            raise UserError(f"cannot read {name}: {reason(error)}; check the path") from error
    if isinstance(image, bytes | bytearray):
        return torch.from_numpy(decode(bytes(image), side, name).copy())
    if is_pil(image):
        try:
            return torch.from_numpy(finished(image, side).copy())
        except UserError as error:
            raise UserError(f"{name} {error}") from error
    x = image[..., None] if np.ndim(image) == 2 else image
    return resized(array_to_bytes(x)[0], side)


def resized(x: Tensor, side: int | None) -> Tensor:
    """Bytes [3, H, W] as a square of `side` pixels, filtered as files are."""
    if side is None or x.shape[1:] == (side, side):
        return x
    from PIL import Image

    from bison_ocl.data.reading.decode import finished

    picture = Image.fromarray(np.ascontiguousarray(x.permute(1, 2, 0).numpy()))
    return torch.from_numpy(finished(picture, side).copy())
