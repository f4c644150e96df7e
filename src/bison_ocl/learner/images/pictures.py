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

from bison_ocl.errors import UserError, first_line, reason
from bison_ocl.learner.images.arrays import as_tensor, batch_to_bytes

LARGEST = 256 * 2**20
"""bytes of an image file"""
LONGEST_NAME = 200
"""characters of a path in messages: base64 of a whole file is taken for one"""


def is_picture(value: Any) -> bool:
    """Whether it is one picture that is no array."""
    return isinstance(value, str | os.PathLike | bytes | bytearray) or is_pil(value)


def is_pil(value: Any) -> bool:
    """Whether it is a PIL image; PIL is not imported, because its images exist only where it is.

    Another thread may be importing it, whose module has no class yet.
    """
    kind = getattr(sys.modules.get("PIL.Image"), "Image", None)
    return kind is not None and isinstance(value, kind)


def are_pictures(images: Any) -> bool:
    """Whether a list holds files, PIL images or arrays, not plain numbers."""
    if not isinstance(images, list | tuple):
        return False
    return any(is_picture(one) or is_array(one) for one in images)


def is_array(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "shape")


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
    from bison_ocl.data.reading.decode import decode

    name = f"image {number}"
    if isinstance(image, str | os.PathLike):
        name = f"{image!s:.{LONGEST_NAME}}" or "an empty path"
        image = content(image, name)
    if isinstance(image, bytes | bytearray):
        return torch.from_numpy(decode(bytes(image), side, name).copy())
    if is_pil(image):
        return from_pil(image, name, side)
    if not is_array(image):
        expected = "an array, a PIL image, a path or the bytes of a file"
        raise UserError(f"{name} is of type {type(image).__name__}: expected {expected}")
    try:
        x = as_tensor(image)
        given = list(x.shape)
        x = x[..., None] if x.ndim == 2 else x
        if x.ndim != 3:
            raise UserError(f"expected [H, W], [H, W, C] or [C, H, W], not {given}")
        return resized(batch_to_bytes(x[None], given)[0], side)
    except UserError as error:
        raise UserError(f"{name}: {error}") from error


def content(path: str | os.PathLike[str], name: str) -> bytes:
    """The bytes of a file."""
    from bison_ocl.data.reading.budget import read_regular

    try:
        return read_regular(Path(path), LARGEST)
    except OSError as error:
        raise UserError(f"cannot read {name}: {reason(error)}; check the path") from error
    except UserError:
        raise
    except ValueError as error:  # characters that no path holds, such as NUL
        raise UserError(f"cannot read {name!r}: {first_line(error)}; check the path") from error


def from_pil(image: Any, name: str, side: int | None) -> Tensor:
    """Bytes [3, H, W] of an image of PIL."""
    from bison_ocl.data.reading.decode import finished

    try:
        image.load()
        if image.mode == "I" and 0 < image.getextrema()[1] < 256:
            raise UserError(
                "is of mode I with no value above 255, nearly black as 16 bits: convert it to L, "
                "or to I;16 if it is that dark"
            )
        return torch.from_numpy(finished(image, side).copy())
    except UserError as error:
        raise UserError(f"{name} {error}") from error
    # An image that is closed, truncated or of a rare mode makes pillow raise nearly anything.
    except Exception as error:
        why = first_line(error)
        raise UserError(f"{name} cannot be decoded ({why}): replace or remove it") from error


def resized(x: Tensor, side: int | None) -> Tensor:
    """Bytes [3, H, W] as a square of `side` pixels, filtered as files are."""
    if side is None or x.shape[1:] == (side, side):
        return x
    from PIL import Image

    from bison_ocl.data.reading.decode import finished

    picture = Image.fromarray(np.ascontiguousarray(x.permute(1, 2, 0).numpy()))
    return torch.from_numpy(finished(picture, side).copy())
