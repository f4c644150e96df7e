"""What arrives: datasets by name, and the order in which their images are seen.

Reading the names imports no dataset and no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from bison_ocl.errors import UserError, unknown

if TYPE_CHECKING:
    from bison_ocl.stream.dataset import Dataset

DATASETS: dict[str, str] = {"split-digits": "digits"}
"""Name to module of this package; the first line of the module says what the dataset is."""


def load(name: str) -> Dataset:
    """The dataset of that name; only its own module is imported."""
    if name not in DATASETS:
        raise UserError(unknown("dataset", name, DATASETS))
    dataset: Dataset = import_module(f"{__name__}.{DATASETS[name]}").load()
    return dataset
