"""Identity of a run: method, data, memory, seed, settings, stream, precision."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self

from bison_ocl.errors import UserError
from bison_ocl.stream.streams import DEFAULT

if TYPE_CHECKING:
    from bison_ocl.nets.precision import Precision

PLAIN: Precision = "tf32"
"""the default precision"""


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
    """options for a folder of images: image_size, tasks, held_out"""
    precision: Precision = PLAIN
    """precision of the convolutions"""

    @property
    def name(self) -> str:
        """A unique file name."""
        values = self.as_spec()
        if self.precision == PLAIN:  # files from before there was a choice keep their names
            del values["precision"]
        if not self.settings.get("average"):  # and so do those from before weights were averaged
            values["settings"] = {k: v for k, v in self.settings.items() if k != "average"}
        digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
        data = re.sub(r"[^\w.-]+", "_", self.data)[-50:]  # a folder's name holds / and :
        return f"{self.method}-{data}-m{self.memory}-s{self.seed}-{digest[:8]}"

    @property
    def identity(self) -> str:
        """The identity as one text, equal for a spec and its record.

        Settings added to the method after a run was recorded count with their defaults.
        """
        return json.dumps(self._complete(), sort_keys=True)

    @property
    def experiment(self) -> str:
        """What the runs of an experiment share: the identity without the seed."""
        return json.dumps(self._complete() | {"seed": None}, sort_keys=True)

    def as_spec(self) -> dict[str, Any]:
        """The fields of a spec, of a record too."""
        return {field.name: getattr(self, field.name) for field in fields(Spec)}

    def _complete(self) -> dict[str, Any]:
        values = self.as_spec()
        return values | {"settings": defaults(self.method) | values["settings"]}

    def on(self, device: str) -> Self:
        """The same run with the precision that the device computes it in."""
        return replace(self, precision=computed_in(self.precision, device))


def computed_in(precision: Precision, device: str) -> Precision:
    """On a CPU nothing is rounded to TF32: it computes in float32, and records say so."""
    on_cpu = device.partition(":")[0] == "cpu"
    return "fp32" if on_cpu and precision == "tf32" else precision


UNDER = " + "
"""between a method and another rule of inference that its network is read by: `er + ncm`"""


def under_rule(method: str, rule: str) -> str:
    """`er + ncm`; the method itself under its own rule, which has no name."""
    return method + UNDER + rule if rule else method


def own_name(method: str) -> str:
    """`er` of `er + ncm`."""
    return method.partition(UNDER)[0]


def rule_of(method: str) -> str:
    """`ncm` of `er + ncm`; empty for the method's own."""
    return method.partition(UNDER)[2]


def defaults(method: str) -> dict[str, Any]:
    """The default settings of a method; empty if this version does not know it."""
    from bison_ocl.methods.declared import settings_on  # commands without records start faster

    return settings_on(own_name(method), "")


MOST_SEEDS = 100_000
"""in one range; more must be a typing error"""


def parse_seeds(text: str) -> list[int]:
    """`0-9`, `3` or `0,2,5-7` as a list without repetitions."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,10})\s*(?:-\s*(\d{1,10})\s*)?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first or last >= 2**31 or last - first >= MOST_SEEDS:
            raise UserError(f"--seeds {text!r}: expected numbers or ranges, such as 0-9 or 0,2,5-7")
        seeds += range(first, last + 1)
    return list(dict.fromkeys(seeds))
