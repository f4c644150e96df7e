"""Ways to read the same trained network, by name: `ld`, `averaged`, `averaged+ld-mirror`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bison_ocl.inference.rule import Rule
from bison_ocl.inference.rules import RULES


@dataclass(frozen=True)
class Readout:
    """The weights to read, live or averaged, and the inference rule."""

    weights: Literal["live", "averaged"] = "live"
    rule: Rule | None = None
    """None for the method's own"""


AVERAGED = "averaged"
"""the averaged weights with the method's own rule; a prefix for another rule"""

READOUTS = (
    {name: Readout("live", rule) for name, rule in RULES.items()}
    | {AVERAGED: Readout("averaged")}
    | {f"{AVERAGED}+{name}": Readout("averaged", rule) for name, rule in RULES.items()}
)
