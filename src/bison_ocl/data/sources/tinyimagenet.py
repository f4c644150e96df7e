"""Photographs of 200 classes, 64x64, 500 + 50 images each, in 10 tasks of 20.

Tiny-ImageNet: Le & Yang 2015, Tiny ImageNet Visual Recognition Challenge (Stanford CS231n).
Reads tiny-imagenet-200 or tiny-imagenet-200.zip in the data folder. The validation images are the
test images, as the official test images have no labels; they are in val/images with
val_annotations.txt, or in class folders in val/. Class ids follow the WordNet ids; words.txt gives
class names.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from bison_ocl.data.reading.listing import Listing, listing
from bison_ocl.data.sources.class_folders import (
    Classes,
    class_folders,
    expect_classes,
    expect_images,
)
from bison_ocl.data.sources.pictures import Pictures, labelled
from bison_ocl.data.sources.source import Source
from bison_ocl.data.storage.deferred import Deferred
from bison_ocl.data.storage.locate import locate
from bison_ocl.errors import UserError

NAME = "split-tinyimagenet"
RULE = "tiny-imagenet 1"
ADVICE = (
    "no Tiny-ImageNet found: put tiny-imagenet-200.zip "
    "(https://cs231n.stanford.edu/tiny-imagenet-200.zip) or its folder into the data folder"
)
ANNOTATIONS = "val/val_annotations.txt"


@dataclass(frozen=True)
class Benchmark:
    """The expected contents of the dataset; tests use smaller ones."""

    classes: int = 200
    train: int = 500
    test: int = 50
    side: int = 64
    tasks: int = 10


OFFICIAL = Benchmark()


def source(place: Path, benchmark: Benchmark = OFFICIAL) -> Source:
    """The training images, and the validation images as test images."""
    names = {"tinyimagenet200", "tinyimagenet", "splittinyimagenet"}
    root = locate(place, names, {"wnids.txt"}, ADVICE)
    if root.is_file():
        return Deferred(NAME, root, {"rule": RULE}, lambda: from_files(root, benchmark))
    return from_files(root, benchmark)


def from_files(root: Path, benchmark: Benchmark) -> Pictures:
    """The official folders."""
    files = listing(root, skip=("test",))
    wnids = class_ids(files, benchmark.classes)
    found = {"train": class_folders(files, "train"), "val": validation(files)}
    for part, count in (("train", benchmark.train), ("val", benchmark.test)):
        expect_classes(files.path(part), found[part], wnids)
        expect_images(files.path(part), found[part], count)
    train, test = (labelled({w: found[part][w] for w in wnids}) for part in ("train", "val"))
    return Pictures(
        name=NAME,
        files=files,
        rule=RULE,
        side=benchmark.side,
        tasks=benchmark.tasks,
        class_names=tuple(class_names(files, wnids)),
        splits={"train": train, "test": test},
    )


def class_ids(files: Listing, count: int) -> list[str]:
    """The sorted WordNet ids from wnids.txt, or from the folders if it is missing."""
    if "wnids.txt" in files.files:
        wnids = sorted({line.strip() for line in files.text("wnids.txt") if line.strip()})
    else:
        wnids = list(class_folders(files, "train"))
    if len(wnids) != count:
        where = "wnids.txt" if "wnids.txt" in files.files else "train"
        raise UserError(f"{files.path(where)} has {len(wnids)} classes, not {count}")
    return wnids


def validation(files: Listing) -> Classes:
    """The classes in val/: by annotations while images are in val/images, else by folders.

    Scripts that sort the images into class folders leave the annotations and val/images behind.
    """
    unsorted = any(name.startswith("val/images/") for name in files.files)
    if ANNOTATIONS in files.files and unsorted:
        return annotated(files)
    return {wnid: names for wnid, names in class_folders(files, "val").items() if names}


def annotated(files: Listing) -> Classes:
    """The classes that val_annotations.txt gives to the files in val/images."""
    classes: Classes = {}
    for number, line in enumerate(files.text(ANNOTATIONS), start=1):
        file, _, rest = line.partition("\t")
        name, where = f"val/images/{file}", f"{files.path(ANNOTATIONS)} line {number}"
        if not rest:
            raise UserError(f"{where} is not `file, class, box`: replace the file")
        if name not in files.files:
            raise UserError(f"{where} names {files.path(name)}, which is missing: add it")
        classes.setdefault(rest.split("\t")[0], []).append(name)
    return {wnid: sorted(names) for wnid, names in classes.items()}


def class_names(files: Listing, wnids: list[str]) -> list[str]:
    """The first word of each class in words.txt, with the WordNet id if it is not unique."""
    lines = files.text("words.txt") if "words.txt" in files.files else []
    words = dict(line.split("\t", 1) for line in lines if "\t" in line)
    short = [words.get(wnid, wnid).split(",")[0].strip() for wnid in wnids]
    used = Counter(short)
    return [
        name if used[name] == 1 else f"{name} ({wnid})"
        for name, wnid in zip(short, wnids, strict=True)
    ]
