"""Contact sheet: the name and a few training images of every class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from bison_ocl.data.check import EACH, Findings
from bison_ocl.data.sources.source import Images
from bison_ocl.errors import UserError, reason

SIDE, GAP, NAME = 64, 4, 170
"""pixels of an image, of the gap between images, and of the class name"""
STRIP = NAME + EACH * (SIDE + GAP) + 4 * GAP
ROWS = 34
"""classes per column"""


def draw(findings: Findings) -> Image.Image:
    """The sheet of a dataset's classes."""
    names, samples = findings.layout.class_names, findings.train.samples
    return drawn(names, [samples[number] for number in range(len(names))])


def drawn(names: Sequence[str], samples: Sequence[Sequence[Images]]) -> Image.Image:
    """The sheet, name after name with up to eight images, column by column."""
    rows = max(1, min(len(names), ROWS))
    size = -(-len(names) // rows) * STRIP + GAP, rows * (SIDE + GAP) + GAP
    sheet = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(size=15)
    for number, name in enumerate(names):
        column, row = divmod(number, rows)
        left, top = column * STRIP + 2 * GAP, row * (SIDE + GAP) + GAP
        left_of_row = (left + NAME - 2 * GAP, top + SIDE // 2)
        pen.text(left_of_row, fitting(name, font), "black", font, anchor="rm")
        for place, image in enumerate(samples[number]):
            sheet.paste(enlarged(image), (left + NAME + place * (SIDE + GAP), top))
    return sheet


def enlarged(image: Images) -> Image.Image:
    """One image [3, H, W] at the sheet's size; small images keep visible pixels."""
    picture = Image.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0)))
    grows = max(picture.size) <= SIDE
    way = Image.Resampling.NEAREST if grows else Image.Resampling.LANCZOS
    return picture.resize((SIDE, SIDE), way)


def fitting(name: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> str:
    """A name, shortened to its width."""
    # Few signs are narrower than a pixel, and measuring a long name takes long.
    shown = name if len(name) <= NAME else name[:NAME] + "…"
    while font.getlength(shown) > NAME - 3 * GAP:
        shown = shown[:-2] + "…"
    return shown


def save(findings: Findings, folder: Path) -> Path:
    """Write NAME.png into a folder."""
    path = folder / f"{findings.name.replace('/', '-').replace(':', '-')}.png"
    write(draw(findings), path, "--out")
    return path


def write(sheet: Image.Image, path: Path, option: str = "--sheet") -> None:
    """Write a sheet; errors name the option of its place."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sheet.save(path)
    except (OSError, ValueError) as error:  # ValueError: a suffix that pillow does not know
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise UserError(f"cannot write {path}: {why}; choose another {option}") from error
