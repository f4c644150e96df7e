"""Check the files of a dataset: counts, checksums, duplicates, sample images."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bison_ocl.data.reading.budget import open_regular
from bison_ocl.data.reading.listing import LARGEST_ARCHIVE
from bison_ocl.data.sources.source import (
    SPLITS,
    Images,
    Labels,
    Layout,
    Source,
    Split,
    chunks,
    reading,
)
from bison_ocl.data.storage.official import SUMS
from bison_ocl.errors import UserError, reason

EACH = 8
"""images per class on the contact sheet"""
VERDICTS = {
    True: "the official file",
    False: "not the official file",
    None: "no official checksum known",
}


@dataclass(frozen=True)
class Seen:
    """The contents of one split."""

    labels: Labels
    digests: list[bytes]
    """of every image"""
    samples: dict[int, list[Images]]
    """the first images of every class"""
    sha256: str


@dataclass(frozen=True)
class Findings:
    """The result of a check."""

    name: str
    layout: Layout
    train: Seen
    test: Seen
    files: tuple[tuple[Path, str, bool | None], ...]
    """path, md5, whether it is the official checksum; None if none is known"""

    @property
    def duplicates(self) -> list[tuple[int, int]]:
        """Pairs of indices of test images that are also training images."""
        first = {digest: place for place, digest in reversed([*enumerate(self.train.digests)])}
        found = enumerate(self.test.digests)
        return [(place, first[digest]) for place, digest in found if digest in first]


def check(source: Source) -> Findings:
    """Read all files once, without the cache."""
    with reading(source):
        layout = source.layout()
    train, test = (look(source, layout, split) for split in SPLITS)
    files = tuple(compared(path) for path in getattr(source, "paths", ()))
    return Findings(source.name, layout, train, test, files)


def look(source: Source, layout: Layout, split: Split) -> Seen:
    """Read a split once."""
    labels: list[Labels] = []
    digests: list[bytes] = []
    samples: dict[int, list[Images]] = {number: [] for number in range(len(layout.class_names))}
    total = hashlib.sha256()
    for x, y in chunks(source, layout, split):
        total.update(x.data)
        labels.append(y)
        digests += [hashlib.blake2b(image.data, digest_size=16).digest() for image in x]
        for number in np.unique(y).tolist():
            missing = EACH - len(samples[number])
            samples[number] += [image.copy() for image in x[y == number][: max(0, missing)]]
    every = np.concatenate(labels)
    total.update(every.astype("<i8").tobytes())
    return Seen(every, digests, samples, total.hexdigest())


def compared(path: Path) -> tuple[Path, str, bool | None]:
    """The md5 checksum of a file, compared with the official one."""
    try:
        with open_regular(path, LARGEST_ARCHIVE) as file:
            md5 = hashlib.file_digest(file, "md5").hexdigest()
    except OSError as error:
        raise UserError(f"cannot read {path}: {reason(error)}") from error
    official = SUMS.get(path.name) or SUMS.get(f"{path.parent.name}/{path.name}")
    return path, md5, None if official is None else md5 == official


def describe(findings: Findings) -> Iterator[str]:
    """The findings as lines of text."""
    layout = findings.layout
    shape = "x".join(str(side) for side in layout.shape)
    yield (
        f"{findings.name}: {layout.train} training + {layout.test} test images, {shape}, "
        f"{len(layout.class_names)} classes, {told_tasks(len(layout.class_names), layout.tasks)}"
    )
    yield from counts(findings)
    for path, md5, official in findings.files:
        yield f"{path}: md5 {md5}, {VERDICTS[official]}"
    yield f"sha256 of the test set: {findings.test.sha256}"
    yield from twins(findings)


def told_tasks(classes: int, tasks: int) -> str:
    """`5 tasks`, and how many classes they have if not all have equally many."""
    each, larger = divmod(classes, tasks)
    unequal = f": {larger} of {each + 1} and {tasks - larger} of {each} classes"
    return f"{tasks} tasks" + (unequal if larger else "")


def counts(findings: Findings) -> Iterator[str]:
    """Images per class; classes with equal counts share a line."""
    names = findings.layout.class_names
    train, test = (
        np.bincount(seen.labels, minlength=len(names)).tolist()
        for seen in (findings.train, findings.test)
    )
    pairs = list(zip(train, test, strict=True))
    for pair, classes in Counter(pairs).items():
        members = [name for name, each in zip(names, pairs, strict=True) if each == pair]
        noun = "class" if classes == 1 else "classes"
        yield f"{pair[0]} + {pair[1]} images in {classes} {noun}: {', '.join(members)}"


def twins(findings: Findings) -> Iterator[str]:
    """The duplicates between training and test images."""
    found = findings.duplicates
    yield f"test images that are also training images: {len(found)}"
    for test, train in found[:20]:
        classes = (seen.labels[n] for seen, n in ((findings.test, test), (findings.train, train)))
        first, second = (findings.layout.class_names[label] for label in classes)
        yield f"  test {test} ({first}) = train {train} ({second})"
    if len(found) > 20:
        yield f"  and {len(found) - 20} more"
