"""Photographs of 100 classes, 84x84, 500 + 100 images each, in 10 tasks of 10.

Mini-ImageNet: Vinyals et al. 2016, Matching Networks for One Shot Learning.
The data folder, or `mini-imagenet` in it, holds either
- mini-imagenet-cache-train.pkl, -val.pkl and -test.pkl;
- images/ with train.csv, val.csv and test.csv (columns filename, label);
- class folders of 600 images, in any distribution over train/, val/ and test/.
The folders may also be in `mini-imagenet.zip`. Class folders are named by WordNet ids. In every
form miniimagenet_rule.py chooses the test images, as in the field: at random in each class. Folders
split by file name are merged first, because such a split is another benchmark.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from bison_ocl.data.reading.listing import CONTROL, Listing, listing
from bison_ocl.data.sources.class_folders import (
    Classes,
    class_folders,
    expect_classes,
    expect_images,
)
from bison_ocl.data.sources.miniimagenet_pickles import PICKLES, Pickles
from bison_ocl.data.sources.miniimagenet_rule import RULE, Benchmark, official
from bison_ocl.data.sources.pictures import Pictures, labelled
from bison_ocl.data.sources.source import Source
from bison_ocl.data.storage.deferred import Deferred
from bison_ocl.data.storage.locate import locate
from bison_ocl.errors import UserError

NAME = "split-miniimagenet"
PARTS = ("train", "val", "test")
TABLES = tuple(f"{part}.csv" for part in PARTS)
ADVICE = (
    "no Mini-ImageNet found: put the three mini-imagenet-cache-*.pkl, the class folders, or "
    "images/ with train.csv, val.csv and test.csv into a folder mini-imagenet in the data folder"
)


def source(place: Path, benchmark: Benchmark | None = None) -> Source:
    """Mini-ImageNet in whichever form the place holds."""
    benchmark = benchmark or official()
    marks = {*PICKLES, *TABLES, "train", *benchmark.classes}
    root = locate(place, {"miniimagenet", "splitminiimagenet"}, marks, ADVICE)
    if any((root / name).exists() for name in PICKLES):
        return Pickles(NAME, root, benchmark)
    if root.is_file():
        return Deferred(NAME, root, {"rule": RULE}, lambda: from_files(listing(root), benchmark))
    return from_files(listing(root), benchmark)


def from_files(files: Listing, benchmark: Benchmark) -> Pictures:
    """The images, with their classes from tables or folders."""
    if any(name in files.files for name in TABLES):
        return by_rule(files, from_tables(files), benchmark)
    parts = [class_folders(files, part) for part in PARTS if part in files.folders]
    return by_rule(files, together(parts) if parts else class_folders(files), benchmark)


def together(parts: Sequence[Classes]) -> Classes:
    """All images of each class, from all parts."""
    found: Classes = {}
    for part in parts:
        for class_name, names in part.items():
            found[class_name] = [*found.get(class_name, []), *names]
    return found


def by_rule(files: Listing, classes: Classes, benchmark: Benchmark) -> Pictures:
    """Hold out test images by the rule."""
    classes = checked(str(files.place), classes, benchmark)
    train: Classes = {}
    test: Classes = {}
    for class_name, names in classes.items():
        held_out = benchmark.held_out(class_name, [stem(name) for name in names])
        train[class_name] = [name for name in names if stem(name) not in held_out]
        test[class_name] = [name for name in names if stem(name) in held_out]
    return Pictures(
        name=NAME,
        files=files,
        rule=RULE,
        side=benchmark.side,
        tasks=benchmark.tasks,
        class_names=tuple(benchmark.classes[wnid] for wnid in train),
        splits={"train": labelled(train), "test": labelled(test)},
    )


def checked(where: str, classes: Classes, benchmark: Benchmark) -> Classes:
    """The classes in the order of their ids, refused if classes or images are missing."""
    expect_classes(where, classes, benchmark.classes)
    expect_images(where, classes, benchmark.each)
    for class_name, names in classes.items():
        if len({stem(name) for name in names}) < benchmark.each:
            raise UserError(f"{where}: class {class_name} has two images with one name: rename one")
    return {name: sorted(classes[name], key=stem) for name in sorted(benchmark.classes)}


def stem(name: str) -> str:
    """A file's name without its folders and extension."""
    return name.rpartition("/")[2].rpartition(".")[0]


def from_tables(files: Listing) -> Classes:
    """The classes that the three CSV files give to the files in images/."""
    classes: Classes = {}
    for table in TABLES:
        for number, file, label in rows(files, table):
            name, where = f"images/{file}", f"{files.path(table)} line {number}"
            if not file or not label or CONTROL.search(file + label):
                raise UserError(f"{where} has no file name or no label: replace the file")
            if name not in files.files:
                raise UserError(f"{where} names {files.path(name)}, which is missing: add it")
            classes.setdefault(label, []).append(name)
    return classes


def rows(files: Listing, table: str) -> Iterator[tuple[int, str | None, str | None]]:
    """Line number, file name and label of every row of a CSV file."""
    if table not in files.files:
        raise UserError(f"{files.path(table)} is missing: all three CSV files are needed")
    reader = csv.DictReader(files.text(table))
    try:
        if not {"filename", "label"} <= set(reader.fieldnames or ()):
            raise UserError(f"{files.path(table)} has no columns filename and label: replace it")
        for row in reader:
            yield reader.line_num, row["filename"], row["label"]
    except csv.Error as error:
        where = f"{files.path(table)} line {reader.line_num + 1}"
        raise UserError(f"{where} cannot be read ({error}): replace the file") from error
