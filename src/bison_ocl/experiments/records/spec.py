"""What one run is: method, data, memory, seed, settings, stream; the same spec, the same result."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any

from bison_ocl.errors import UserError
from bison_ocl.stream.streams import DEFAULT

if TYPE_CHECKING:
    from bison_ocl.nets.precision import Precision

PLAIN: Precision = "tf32"
"""unless another precision is asked for"""


@dataclass(frozen=True)
class Spec:
    """The identity of a run."""

    method: str
    data: str
    memory: int
    seed: int
    settings: dict[str, Any]
    stream: str = DEFAULT
    """in canonical form"""
    data_options: dict[str, Any] = field(default_factory=dict)
    """how a folder of images was cut: image_size, tasks, held_out"""
    precision: Precision = PLAIN
    """in which numbers convolutions are computed"""

    @property
    def name(self) -> str:
        """A file name that tells runs apart, whatever differs between them."""
        said = asdict(self)
        if self.precision == PLAIN:  # files from before there was a choice keep their names
            del said["precision"]
        digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
        data = re.sub(r"[^\w.-]+", "_", self.data)[-50:]  # a folder's name holds / and :
        return f"{self.method}-{data}-m{self.memory}-s{self.seed}-{digest[:8]}"

    def is_of(self, record: Mapping[str, Any]) -> bool:
        """Whether a record is this run's."""
        return identity(record) == identity(vars(self))


LATER: dict[str, Any] = {"precision": PLAIN}
"""Fields that records did not always have, and what such a record counts as."""


def precision_of(run: Mapping[str, Any]) -> str:
    """The precision of a run; records from before there was a choice do not name it."""
    return str(run.get("precision", PLAIN))


def identity(run: Mapping[str, Any]) -> str:
    """What tells a run from others, as one text; equal for a spec and its records.

    Settings that its method gained after a run was recorded count as having their defaults.
    """
    told = {**LATER, **run}
    told["settings"] = defaults(run["method"]) | told["settings"]
    return json.dumps([told.get(field.name) for field in fields(Spec)], sort_keys=True)


@cache
def defaults(method: str) -> dict[str, Any]:
    """The settings of a method by default; none where this version does not know it."""
    from bison_ocl.methods.settings import configured, settings_of  # needs torch

    try:
        return settings_of(configured(method.partition(" + ")[0], None, {}))
    except UserError:
        return {}


MOST_SEEDS = 100_000
"""in one range: more is a slip of the finger"""


def parse_seeds(text: str) -> list[int]:
    """`0-9`, `3` or `0,2,5-7` as a list without repetitions."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,10})\s*(?:-\s*(\d{1,10})\s*)?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first or last >= 2**31 or last - first >= MOST_SEEDS:
            raise UserError(f"--seeds {text!r}: give numbers and ranges, such as 0-9 or 0,2,5-7")
        seeds += range(first, last + 1)
    return list(dict.fromkeys(seeds))
