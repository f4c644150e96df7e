"""Images in one folder per class.

Images may be in subfolders of their class folder. There, text files (*.txt) are ignored and other
files that are no images are refused. Next to the class folders only images are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sized

from bison_ocl.data.reading.listing import Listing
from bison_ocl.errors import UserError

SUFFIXES = (
    *(".jpg", ".jpeg", ".jpe", ".png", ".bmp", ".gif"),
    *(".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm"),
)

Classes = dict[str, list[str]]
"""The images of each class, named as in the listing; both in order."""


def class_folders(files: Listing, part: str = "") -> Classes:
    """The classes in a folder of a listing, or at its top."""
    prefix = f"{part}/" if part else ""
    inside = [name.removeprefix(prefix) for name in files.folders if name.startswith(prefix)]
    classes: Classes = {name: [] for name in sorted(inside) if "/" not in name}
    for name in files.files:
        if name.startswith(prefix):
            class_name, slash, _ = name.removeprefix(prefix).partition("/")
            if wanted(files, name, in_class=bool(slash)):
                classes[class_name].append(name)
    return classes


def wanted(files: Listing, name: str, in_class: bool) -> bool:
    """Whether a file is an image of a class; misplaced files are an error."""
    image = name.lower().endswith(SUFFIXES)
    if image and not in_class:
        raise UserError(f"{files.path(name)} is outside the class folders: move it into one")
    if in_class and not image and not name.lower().endswith(".txt"):
        raise UserError(
            f"{files.path(name)} is not an image ({', '.join(SUFFIXES)}): "
            "check that this is a folder of images, or move the file out of it"
        )
    return image


def expect_classes(where: str, found: Collection[str], expected: Collection[str]) -> None:
    """Refuse missing or unexpected classes."""
    for what, names in (
        ("is missing", [name for name in expected if name not in found]),
        (f"is not one of the {len(expected)} expected", [n for n in found if n not in expected]),
    ):
        if names:
            more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
            raise UserError(f"{where}: class {names[0]}{more} {what}")


def expect_images(where: str, classes: Mapping[str, Sized], count: int) -> None:
    """Refuse a class with another number of images."""
    wrong = [name for name, images in classes.items() if len(images) != count]
    if wrong:
        more = f" (and {len(wrong) - 1} more classes differ)" if len(wrong) > 1 else ""
        raise UserError(
            f"{where}: class {wrong[0]} has {len(classes[wrong[0]])} images, not {count}{more}"
        )
