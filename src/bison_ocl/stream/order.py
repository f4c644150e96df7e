"""Disjoint tasks listed in a JSON file, order:PATH; included in the package: order:confusion.

Wen, Heinis & Choi 2026, confusion study (order:confusion): similar CIFAR-10 classes kept apart.
The file is a list of tasks, each a list of class ids or names, with every class exactly once.
Seeds differ only in the image order within a task.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import torch

from bison_ocl.data.dataset import Dataset
from bison_ocl.data.reading.budget import read_regular
from bison_ocl.data.storage.places import in_home
from bison_ocl.errors import UserError, unknown
from bison_ocl.stream.tasks import Stream, disjoint

Tasks = Sequence[Sequence[int | str]]

LARGEST = 1 << 24
"""bytes of an order file"""
SHIPPED = ("confusion",)
"""Orders that are part of the package."""

INLINE = re.compile(r"\d+(,\d+)*(/\d+(,\d+)*)*")
"""the form of an order in a record, independent of its file: 3,4/5,1"""


def order(dataset: Dataset, seed: int, tasks: Tasks) -> Stream:
    """One task per list of classes."""
    groups = [torch.tensor(group) for group in class_ids(dataset, tasks)]
    return disjoint(dataset, seed, groups)


def options(text: str) -> dict[str, Tasks]:
    """The tasks of a shipped name, a path or 3,4/5,1."""
    if INLINE.fullmatch(text):
        return {"tasks": [[int(label) for label in task.split(",")] for task in text.split("/")]}
    if not text:
        raise UserError(f"order needs a file: order:PATH, or shipped order:{SHIPPED[0]}")
    return {"tasks": shipped(text) if text in SHIPPED else parse(from_disk(text), text)}


def written(dataset: Dataset, tasks: Tasks) -> str:
    """The shipped name of these tasks, or their ids: 3,4/5,1."""
    ids = class_ids(dataset, tasks)
    names = [name for name in SHIPPED if shipped(name) == ids]
    return names[0] if names else "/".join(",".join(map(str, task)) for task in ids)


def shipped(name: str) -> Tasks:
    """The tasks of an order that is part of the package."""
    text = files("bison_ocl.stream").joinpath(f"order_{name}.json").read_text("utf-8")
    return parse(text, name)


def from_disk(path: str) -> str:
    known = f"(shipped: {', '.join(SHIPPED)})"
    try:
        return read_regular(in_home(path, "give order:"), LARGEST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UserError(f"cannot read the order {path}: {why} {known}") from error


def parse(text: str, path: str) -> Tasks:
    """JSON as lists of ids and names."""
    try:
        tasks: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON: {error}") from error
    lists = [tasks, *tasks] if isinstance(tasks, list) else [tasks]
    labels = [label for task in lists[1:] if isinstance(task, list) for label in task]
    if not all(isinstance(one, list) and one for one in lists) or not all(
        type(label) in (int, str) for label in labels
    ):
        raise UserError(f"{path}: expected lists of class ids or names, such as [[3, 4], [5, 1]]")
    return [list(task) for task in tasks]


def class_ids(dataset: Dataset, tasks: Tasks) -> list[list[int]]:
    """The tasks as ids, refused unless every class occurs exactly once."""
    ids = [[class_id(dataset, label) for label in task] for task in tasks]
    flat = [label for task in ids for label in task]
    twice = [label for label in dict.fromkeys(flat) if flat.count(label) > 1]
    missing = sorted(set(range(dataset.classes)) - set(flat))
    for what, labels in (("names twice", twice), ("leaves out", missing)):
        if labels:
            names = ", ".join(f"{label} ({dataset.class_names[label]})" for label in labels[:5])
            raise UserError(f"the order {what} class {names}: list every class exactly once")
    return ids


def class_id(dataset: Dataset, label: int | str) -> int:
    if isinstance(label, str):
        if label not in dataset.class_names:
            raise UserError(unknown(f"class of {dataset.name}", label, dataset.class_names))
        return dataset.class_names.index(label)
    if not 0 <= label < dataset.classes:
        last = dataset.classes - 1
        raise UserError(f"the order names class {label}, but {dataset.name} has 0 to {last}")
    return label
