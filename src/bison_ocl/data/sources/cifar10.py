"""Photographs of 10 classes, 32x32, 5,000 + 1,000 images each, in 5 tasks of 2.

CIFAR-10: Krizhevsky 2009, Learning Multiple Layers of Features from Tiny Images.
"""

from __future__ import annotations

from pathlib import Path

from bison_ocl.data.sources.cifar import Binary, Cifar, Pickled, Variant, Version, find

BATCHES = tuple(f"data_batch_{number}" for number in range(1, 6))
CIFAR10 = Variant(
    name="split-cifar10",
    title="CIFAR-10",
    tasks=5,
    class_names=(
        *("airplane", "automobile", "bird", "cat", "deer"),
        *("dog", "frog", "horse", "ship", "truck"),
    ),
    versions=(
        Version(
            archive="cifar-10-python.tar.gz",
            folder="cifar-10-batches-py",
            train=BATCHES,
            test=("test_batch",),
            names="batches.meta",
            reader=Pickled("labels", "label_names"),
        ),
        Version(
            archive="cifar-10-binary.tar.gz",
            folder="cifar-10-batches-bin",
            train=tuple(f"{name}.bin" for name in BATCHES),
            test=("test_batch.bin",),
            names="batches.meta.txt",
            reader=Binary(labels=1),
        ),
    ),
)


def source(place: Path) -> Cifar:
    """The official files in a place."""
    return find(CIFAR10, place)
