"""Decode one image file to bytes [3, side, side].

Colours match a viewer: grey, palette and CMYK become RGB, transparent pixels are put on white, 16
bits keep the high 8 (0..65535 becomes 0..255), and the EXIF orientation is applied. Colour profiles
are ignored; an animation gives its first frame. Other sizes are resized to the square with
antialiased bilinear filtering, as in Mini-ImageNet.
"""

from __future__ import annotations

from io import BytesIO

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from bison_ocl.data.reading.budget import SharedBudget
from bison_ocl.data.sources.source import Images
from bison_ocl.errors import UserError

VERSION = 1
"""part of a cache's fingerprint; raised whenever the same file decodes to other bytes"""
FORMATS = ("JPEG", "PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
"""the allowed decoders; pillow has others, one of which starts Ghostscript"""
MOST_PIXELS = 64_000_000
"""the limit above which an image counts as a decompression bomb"""
LONGEST = 65_535
"""pixels of a side, as in a JPEG: resizing a line of 64 million takes 2 GB"""
IN_WORK = SharedBudget(MOST_PIXELS)
"""pixels that all threads may decode at a time, at about 10 bytes each"""
STRIP = 1_000_000
"""pixels converted to RGB at a time"""
ORIENTATION = 0x0112


def decode(content: bytes, side: int | None, name: str) -> Images:
    """The image [3, side, side], or in its own size without a side; errors call it `name`."""
    if not content:
        raise UserError(f"{name} is empty (0 bytes): replace or remove it")
    try:
        return pixels(content, side)
    except UserError as error:
        raise UserError(f"{name} {error}") from error
    # A damaged file makes pillow raise nearly anything: OSError, SyntaxError, struct.error, ...
    except Exception as error:
        why = "not an image" if isinstance(error, UnidentifiedImageError) else error
        raise UserError(f"{name} cannot be decoded ({why}): replace or remove it") from error


def pixels(content: bytes, side: int | None) -> Images:
    """Decode, rotate upright, convert to RGB and resize."""
    try:
        image = Image.open(BytesIO(content), formats=FORMATS)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise UserError(f"is refused: more than {MOST_PIXELS:,} pixels") from error
    with image:
        area = image.width * image.height
        if area > MOST_PIXELS:
            raise UserError(f"is refused: more than {MOST_PIXELS:,} pixels")
        if max(image.size) > LONGEST:
            raise UserError(f"is refused: a side of more than {LONGEST:,} pixels")
        with IN_WORK.borrowed(area):
            return finished(image, side)


def finished(image: Image.Image, side: int | None) -> Images:
    """The pixels of an opened image."""
    if 0 in image.size:
        raise UserError("has no pixels: leave it out")
    image.load()
    colour = in_colour(upright(image))
    if side is not None and colour.size != (side, side):
        colour = colour.resize((side, side), Image.Resampling.BILINEAR)
    return np.ascontiguousarray(np.asarray(colour).transpose(2, 0, 1))


def upright(image: Image.Image) -> Image.Image:
    """Rotate an image by its EXIF orientation; broken EXIF is ignored."""
    try:
        turned = image.getexif().get(ORIENTATION, 1) != 1
        return ImageOps.exif_transpose(image) if turned else image
    except Exception:
        return image


def in_colour(image: Image.Image) -> Image.Image:
    """Convert any mode of pillow to RGB, strip by strip to limit memory."""
    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    if image.mode == "F":
        raise UserError("is refused: floating-point pixels have no agreed range; save 8 or 16 bits")
    colour = Image.new("RGB", image.size)
    rows = max(1, STRIP // image.width)
    for top in range(0, image.height, rows):
        strip = image.crop((0, top, image.width, min(top + rows, image.height)))
        colour.paste(rgb(strip), (0, top))
    return colour


def rgb(image: Image.Image) -> Image.Image:
    """Convert to RGB: the high 8 of 16 bits, transparent pixels on white."""
    if image.mode.startswith("I"):
        high = np.clip(np.asarray(image) >> 8, 0, 255)
        return Image.fromarray(high.astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        white = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")
    return image.convert("RGB")
