"""Images of requests: base64 of PNG or JPEG files, and arrays of .npy files.

Files are decoded by the readers of datasets, within a budget of pixels, and resized to the
learner's size. A .npy file holds bytes, or floats in [0, 1], in any layout that `Learner` takes.
"""

from __future__ import annotations

import base64
from contextlib import suppress
from io import BytesIO
from math import prod
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from PIL import Image

from bison_ocl.data.reading.budget import Budget
from bison_ocl.data.reading.decode import FORMATS, MOST_PIXELS, decode
from bison_ocl.data.sources.source import Images
from bison_ocl.errors import UserError
from bison_ocl.serve.refused import Refused

HEADERS: dict[tuple[int, int], Any] = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
}


def pictures(found: object, batch: int, shape: tuple[int, ...]) -> Images:
    """The decoded images of a JSON body, [N, 3, H, W]. found: what it has for `images`"""
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise UserError("expected JSON with images: a list of base64 texts of PNG or JPEG files")
    check_batch(len(found), batch)
    budget = Budget(MOST_PIXELS, Refused(413, f"more than {MOST_PIXELS:,} pixels in one request"))
    decoded = [picture(text, shape, f"image {i}", budget) for i, text in enumerate(found)]
    return np.stack(decoded) if decoded else np.zeros((0, *shape), np.uint8)


def picture(text: str, shape: tuple[int, ...], name: str, budget: Budget) -> Images:
    """A decoded image, resized to a square; other shapes must fit as they are."""
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError as error:
        expected = "the standard alphabet (+ and /), no data: prefix, no line breaks"
        raise UserError(f"{name} is not base64 ({error}): expected {expected}") from error
    budget.spend(area(content))
    _, height, width = shape
    image = decode(content, width if height == width else None, name)
    if image.shape != shape:
        found = f"{image.shape[1]}x{image.shape[2]}"
        raise UserError(f"{name} is {found}, the learner's images are {height}x{width}: resize it")
    return image


def area(content: bytes) -> int:
    """Pixels that a file says it has; 0 where `decode` will refuse it."""
    with suppress(Exception), Image.open(BytesIO(content), formats=FORMATS) as image:
        return image.width * image.height
    return 0


def array(body: bytes, batch: int) -> NDArray[Any]:
    """The array of a .npy body, whose header may ask for no more than the body holds."""
    file = BytesIO(body)
    try:
        read_header = HEADERS[npy.read_magic(file)]
        shape, by_columns, dtype = read_header(file)
    # A damaged header can end in almost any exception.
    except Exception as error:
        raise UserError("the body is not a .npy file: write it with numpy.save") from error
    if dtype.kind not in "uf" or min(shape, default=0) < 0:
        raise UserError(f"the .npy header says {shape} of {dtype}: expected bytes or floats")
    if prod(shape) * dtype.itemsize != (held := len(body) - file.tell()):
        raise UserError(f"the .npy header says {shape} of {dtype}, but {held:,} bytes follow")
    check_batch(shape[0] if len(shape) == 4 else 1, batch)
    flat = np.frombuffer(body, dtype, offset=file.tell())
    return flat.reshape(shape, order="F" if by_columns else "C")


def check_batch(images: int, most: int) -> None:
    if images > most:
        raise Refused(413, f"{images} images: expected at most {most} in one request")
