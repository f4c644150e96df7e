"""A grid of runs: methods, memory sizes and values of settings, as the cells of a plan.

A setting applies to the methods that read it, as in `reproduce --set`; one that no method reads is
refused. Imports nothing heavy before a method's settings are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from bison_ocl.errors import UserError
from bison_ocl.experiments.plan.paper import REFERENCE, Cell, Item
from bison_ocl.experiments.plan.plan import (
    Plan,
    check,
    check_settings,
    merged,
    settings_of_reference,
    settings_read_by,
)
from bison_ocl.stream.streams import DEFAULT

Values = Mapping[str, Sequence[str]]
"""values by setting, as text"""


@dataclass(frozen=True)
class Grid:
    """The axes of a sweep."""

    methods: Sequence[str]
    data: str
    memory: Sequence[int]
    settings: Values
    stream: str = DEFAULT
    also: tuple[str, ...] = ()

    def cells(self) -> tuple[Cell, ...]:
        """Every combination, each once; all is checked before anything runs."""
        from bison_ocl.methods import method_class

        found = merged(
            Cell(method, self.data, memory, settings, self.stream)
            for method, reads in self._read_by_methods().items()
            for memory in (self.memory if method_class(method).replays else (0,))
            for settings in combinations(self.settings, reads)
        )
        for cell in found if len(self.methods) > 1 else ():
            check_settings(cell)
        return read_by(found, self.also)

    def _read_by_methods(self) -> dict[str, Sequence[str]]:
        """The settings for each method; a single method gets all and may refuse some."""
        if len(self.methods) == 1:
            return {self.methods[0]: list(self.settings)}
        reads = {method: settings_read_by(method) for method in self.methods}
        check("setting", self.settings, [name for names in reads.values() for name in names])
        return dict(reads)

    def references(self) -> tuple[Cell, ...]:
        """The FINE-TUNE cells that AI needs, with the settings that FINE-TUNE reads."""
        reads = settings_of_reference()
        return tuple(
            Cell(REFERENCE, self.data, 0, settings, self.stream)
            for settings in combinations(self.settings, reads)
        )


def combinations(settings: Values, reads: Sequence[str]) -> Iterator[tuple[tuple[str, str], ...]]:
    """Every choice of one value per setting that a method reads."""
    names = [name for name in settings if name in reads]
    for values in product(*(settings[name] for name in names)):
        yield tuple(zip(names, values, strict=True))


def read_by(cells: Sequence[Cell], also: Sequence[str]) -> tuple[Cell, ...]:
    """Cells with the readouts that apply to their methods; one that applies to none is refused.

    Where an average is asked for, by any option, `averaged` is one of them, unless each method
    predicts by its average anyway.
    """
    from bison_ocl.experiments.train.also import fault
    from bison_ocl.inference.readouts import AVERAGED
    from bison_ocl.methods.settings import configured
    from bison_ocl.methods.start import check_memory

    methods = [configured(cell.method, cell.data, dict(cell.settings)) for cell in cells]
    pairs = list(zip(cells, methods, strict=True))
    for cell, method in pairs:
        check_memory(method, cell.memory)
    asked = [method for cell, method in pairs if "average" in dict(cell.settings)]
    if any(method.average and not method.reads_average for method in asked):
        also = tuple(dict.fromkeys([*also, AVERAGED]))
    faults = {name: [fault(name, method) for method in methods] for name in also}
    for reasons in faults.values():
        if all(reasons):
            raise UserError(str(reasons[0]))
    return tuple(
        replace(cell, also=tuple(name for name in faults if not faults[name][place]))
        for place, cell in enumerate(cells)
    )


def swept(name: str, cells: Iterable[Cell], seeds: Sequence[int]) -> Plan:
    """The plan of a sweep, FINE-TUNE references first; no run is copied from other folders."""
    chosen = merged(sorted(cells, key=lambda cell: cell.method != REFERENCE))
    return Plan(name, Item("", "", chosen), chosen, tuple(seeds), copies=False)


def listed(settings: Mapping[str, str]) -> dict[str, list[str]]:
    """`beta=0.05,0.1` as values by setting."""
    found = {name: [part.strip() for part in text.split(",")] for name, text in settings.items()}
    for name, values in found.items():
        if not all(values):
            raise UserError(f"--set {name}={settings[name]}: expected values between the commas")
    return {name: list(dict.fromkeys(values)) for name, values in found.items()}


def joined(one: Values, other: Values) -> dict[str, Sequence[str]]:
    """The values of --set and of --grid; a setting in both is refused."""
    if twice := sorted(set(one) & set(other)):
        raise UserError(f"{twice[0]} is given on the command line and in --grid: give it once")
    return {**one, **other}
