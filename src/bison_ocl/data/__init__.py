"""Datasets by name; their files are found, checked, cached and opened.

Importing the names loads no dataset and no torch. A dataset's module has `load()` if the images are
part of the package, or `source(place, **options)`, which finds its files.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bison_ocl.errors import UserError, unknown

if TYPE_CHECKING:
    from bison_ocl.data.dataset import Dataset
    from bison_ocl.data.sources.source import Source

DATASETS: dict[str, str] = {
    "split-digits": "digits",
    "split-cifar10": "cifar10",
    "split-cifar100": "cifar100",
    "split-miniimagenet": "miniimagenet",
    "split-tinyimagenet": "tinyimagenet",
    "folder:PATH": "folder",
}
"""Name to module of `sources`; the first line of the module describes the dataset."""


def plain_name(name: str) -> str:
    """A dataset's name as records keep it: a folder's path without `./` and a last `/`."""
    kind, _, path = name.partition(":")
    return f"{kind}:{Path(path)}" if path else name


def load(name: str, data_dir: str | Path | None = None, **options: Any) -> Dataset:
    """The dataset of that name; only its own module is imported.

    validate: the share of the training images that takes the place of the test images.
    """
    if "validate" in options:
        from bison_ocl.data.validation import check_share, held_out

        check_share(share := options.pop("validate"))
        return held_out(load(name, data_dir, **options), share)
    module = module_of(name)
    check_options(name, options)
    if not hasattr(module, "source"):
        dataset: Dataset = module.load()
        return dataset
    from bison_ocl.data.storage.cache import open_cached
    from bison_ocl.data.storage.places import cache_folder

    return open_cached(source_of(name, data_dir, **options), cache_folder(data_dir))


def source_of(name: str, data_dir: str | Path | None = None, **options: Any) -> Source:
    """The files of a dataset: in the data folder, or in PATH for a name such as `folder:PATH`."""
    from bison_ocl.data.storage.places import data_folder, in_home

    module = module_of(name)
    if not hasattr(module, "source"):
        raise UserError(f"{name} is part of the package: it has no files to fetch or to check")
    check_options(name, options)
    _, colon, path = name.partition(":")
    place = in_home(path, "give folder:") if colon else data_folder(data_dir)
    source: Source = module.source(place, **options)
    return source


def check_options(name: str, options: dict[str, Any]) -> None:
    """Refuse options for any dataset but a user's folder."""
    if options and ":" not in name:
        raise UserError(f"{name} takes no options ({', '.join(options)}): only folder:PATH does")


def module_of(name: str) -> ModuleType:
    """The module of a dataset; for `folder:PATH`, by the part before the colon."""
    kind, _, path = name.partition(":")
    key = f"{kind}:PATH" if path else name
    if key not in DATASETS and os.path.exists(name):  # False for names that are no path
        raise UserError(f"unknown dataset {name!r}: a folder of images is folder:{name}")
    if key not in DATASETS:
        raise UserError(unknown("dataset", name, DATASETS))
    return import_module(f"{__name__}.sources.{DATASETS[key]}")
