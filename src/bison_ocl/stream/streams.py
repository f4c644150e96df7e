"""Streams by name: one text, such as `blurry:disjoint=50,spill=10`, selects a stream.

Importing the names loads no stream and no torch. A stream's module has a function of its own name,
(dataset, seed, parameters) -> Stream. Its parameters are numbers with defaults and RANGES; a module
with other parameters reads and writes them by its own `options` and `written`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bison_ocl.errors import UserError, unknown
from bison_ocl.stream import parameters

if TYPE_CHECKING:
    from bison_ocl.data.dataset import Dataset
    from bison_ocl.stream.tasks import Stream

STREAMS: dict[str, str] = {
    "class-incremental": "class_incremental",
    "natural": "natural",
    "order": "order",
    "blurry": "blurry",
    "long-tailed": "long_tailed",
    "one-class": "one_class",
    "iid": "iid",
}
"""Name to module of this package; the first line of the module describes the stream."""

DEFAULT = "class-incremental"


@dataclass(frozen=True)
class Choice:
    """A selected stream with all its parameters."""

    name: str
    options: dict[str, Any]

    def stream(self, dataset: Dataset, seed: int) -> Stream:
        """The stream of a dataset and a seed."""
        made: Stream = getattr(module_of(self.name), STREAMS[self.name])(
            dataset, seed, **self.options
        )
        return made

    def text(self, dataset: Dataset) -> str:
        """The canonical text of this stream, part of a run's identity; `parse` reads it."""
        if not self.options:
            return self.name
        module = module_of(self.name)
        if hasattr(module, "written"):
            return f"{self.name}:{module.written(dataset, **self.options)}"
        pairs = [f"{name}={parameters.written(value)}" for name, value in self.options.items()]
        return f"{self.name}:{','.join(pairs)}"


def parse(text: str) -> Choice:
    """`name` or `name:parameters`; missing parameters have their defaults."""
    name, _, rest = (part.strip() for part in text.partition(":"))
    module = module_of(name)
    if hasattr(module, "options"):
        return Choice(name, module.options(rest))
    given = parameters.read(name, rest, defaults(module, STREAMS[name]))
    parameters.check(getattr(module, "RANGES", {}), **given)
    return Choice(name, given)


def canonical(text: str, dataset: Dataset) -> str:
    """The canonical text of a stream, as in records."""
    return parse(text).text(dataset)


def stream_of(text: str, dataset: Dataset, seed: int) -> Stream:
    """The stream that a text names."""
    return parse(text).stream(dataset, seed)


def module_of(name: str) -> ModuleType:
    if name not in STREAMS:
        raise UserError(unknown("stream", name, STREAMS))
    return import_module(f"bison_ocl.stream.{STREAMS[name]}")


def defaults(module: ModuleType, function: str) -> dict[str, float]:
    """The default parameters of a stream, from its signature."""
    found = signature(getattr(module, function)).parameters.values()
    return {one.name: one.default for one in found if one.default is not one.empty}
