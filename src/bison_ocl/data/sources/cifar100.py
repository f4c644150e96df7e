"""Photographs of 100 classes, 32x32, 500 + 100 images each, in 10 tasks of 10.

CIFAR-100, fine labels: Krizhevsky 2009, Learning Multiple Layers of Features from Tiny Images.
"""

from __future__ import annotations

from pathlib import Path

from bison_ocl.data.sources.cifar import Binary, Cifar, Pickled, Variant, Version, find

CIFAR100 = Variant(
    name="split-cifar100",
    title="CIFAR-100",
    tasks=10,
    class_names=tuple(str(number) for number in range(100)),
    versions=(
        Version(
            archive="cifar-100-python.tar.gz",
            folder="cifar-100-python",
            train=("train",),
            test=("test",),
            names="meta",
            reader=Pickled("fine_labels", "fine_label_names"),
        ),
        Version(
            archive="cifar-100-binary.tar.gz",
            folder="cifar-100-binary",
            train=("train.bin",),
            test=("test.bin",),
            names="fine_label_names.txt",
            reader=Binary(labels=2),
        ),
    ),
)


def source(place: Path) -> Cifar:
    """The official files in a place."""
    return find(CIFAR100, place)
