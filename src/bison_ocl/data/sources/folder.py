"""Your own images: a folder (or zip archive) with one subfolder per class.

PATH/CLASS/image, or PATH/train/CLASS/image and PATH/test/CLASS/image.
From PATH/CLASS/..., a share of every class is held out for testing; PATH/train/CLASS/... and
PATH/test/CLASS/... (or PATH/val) are used as given. Classes are numbered in the order of their
names. An image is held out if its draw, from `folder 1, seed 0/CLASS/PATH IN THE CLASS` (see
held_out.py), is below the share, so that adding images moves no other. The share is therefore met
on average; each class keeps at least one image in both splits.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from bison_ocl.data.reading.listing import Listing, listing
from bison_ocl.data.sources.class_folders import Classes, class_folders, expect_classes
from bison_ocl.data.sources.held_out import below
from bison_ocl.data.sources.pictures import Pictures, labelled
from bison_ocl.data.sources.source import Source
from bison_ocl.data.storage.deferred import Deferred
from bison_ocl.errors import UserError, plural

RULE = "folder 1, seed 0"
SHARE = 0.2
"""of the images of a class, held out by default"""
SMALLEST, LARGEST = 8, 1024
PARTS = {"train", "training", "test", "testing", "val", "valid", "validation"}
"""usual names of the parts of a split, in lower case"""


def source(
    path: Path, image_size: int = 32, tasks: int | None = None, held_out: float | None = None
) -> Source:
    """The images of a folder, all resized to one size. held_out: SHARE if None"""
    if not SMALLEST <= image_size <= LARGEST:
        raise UserError(f"image size {image_size}: expected {SMALLEST} to {LARGEST} pixels")
    if held_out is not None and not 0 < held_out < 1:
        raise UserError(f"held-out share {held_out}: expected a number between 0 and 1")
    if os.path.isfile(path):  # pathlib's would raise if the path is too long or forbidden
        share = held_out or SHARE
        rules = {"rule": RULE, "side": image_size, "tasks": tasks, "held out": share}
        read = partial(from_files, path, image_size, tasks, held_out)
        return Deferred(f"folder:{path}", path, rules, read)
    return from_files(path, image_size, tasks, held_out)


def from_files(path: Path, image_size: int, tasks: int | None, held_out: float | None) -> Pictures:
    """The images of a folder or archive."""
    files = listing(path)
    given = {"train", "test"} <= files.folders or {"train", "val"} <= files.folders
    if given and held_out is not None:
        raise UserError(f"held-out share {held_out}: {path} has test images; leave out the share")
    share = held_out or SHARE
    train, test = as_given(files) if given else drawn(files, share)
    if len(train) < 2:
        raise UserError(f"{path} has {len(train)} class folders: expected at least 2")
    return Pictures(
        name=f"folder:{path}",
        files=files,
        rule="as given 1" if given else f"{RULE}, {share}",
        side=image_size,
        tasks=task_count(len(train), tasks),
        class_names=tuple(train),
        splits={"train": labelled(train), "test": labelled(test)},
    )


def as_given(files: Listing) -> tuple[Classes, Classes]:
    """The classes of train/, and of test/ or val/."""
    part = "test" if "test" in files.folders else "val"
    train, test = class_folders(files, "train"), class_folders(files, part)
    expect_classes(files.path(part), test, train)
    for where, classes in (("train", train), (part, test)):
        expect_at_least(files.path(where), classes, 1)
    return train, test


def drawn(files: Listing, held_out: float) -> tuple[Classes, Classes]:
    """Every class split by the rule."""
    train: Classes = {}
    test: Classes = {}
    classes = class_folders(files)
    expect_no_parts(str(files.place), classes)
    expect_at_least(str(files.place), classes, 2)
    for class_name, names in classes.items():
        inside = [name.removeprefix(f"{class_name}/") for name in names]
        chosen = below(RULE, class_name, inside, held_out)
        train[class_name] = [f"{class_name}/{name}" for name in inside if name not in chosen]
        test[class_name] = [f"{class_name}/{name}" for name in inside if name in chosen]
    return train, test


def expect_no_parts(where: str, classes: Classes) -> None:
    """Refuse a split by other names, whose parts would pass for classes."""
    parts = [name for name in classes if name.lower() in PARTS]
    if len(parts) > 1:
        raise UserError(
            f"{where}: {' and '.join(parts)} look like a split, not like classes: "
            "rename them to train and test"
        )


def expect_at_least(where: str, classes: Classes, count: int) -> None:
    """Refuse a class with too few images."""
    for class_name, names in classes.items():
        if len(names) < count:
            found = plural(len(names), "image")
            raise UserError(f"{where}: class {class_name!r} has {found}, expected at least {count}")


def task_count(classes: int, wanted: int | None) -> int:
    """The wanted number of tasks; by default the most, up to 5, that divide the classes, else 5."""
    if wanted is None:
        return next((n for n in (5, 4, 3, 2) if classes % n == 0), min(5, classes))
    if not 1 <= wanted <= classes:
        raise UserError(f"{wanted} tasks: expected 1 to {classes}, the number of classes")
    return wanted
