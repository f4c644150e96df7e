"""Plan an item of the paper, narrowed or moved to other data: its cells and seeds.

Imports nothing heavy unless a setting or another dataset is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from bison_ocl.errors import UserError, unknown
from bison_ocl.experiments.plan.paper import ITEMS, MEMORIES, REFERENCE, Cell, Item, Settings
from bison_ocl.methods import METHODS
from bison_ocl.methods.declared import facts, settings_on
from bison_ocl.methods.outside import REGISTERED


@dataclass(frozen=True)
class Wanted:
    """The part of an item to run; an empty field means all."""

    seeds: Sequence[int] = ()
    methods: Sequence[str] = ()
    data: Sequence[str] = ()
    memory: Sequence[int] = ()
    settings: Settings = ()


EVERYTHING = Wanted()

ALL = "all"
"""selects every item"""


@dataclass(frozen=True)
class Plan:
    """The cells of an item, FINE-TUNE references first, each over the same seeds."""

    name: str
    item: Item
    cells: tuple[Cell, ...]
    seeds: tuple[int, ...]
    copies: bool = True
    """whether runs of other items in the same folder are copied"""

    @property
    def runs(self) -> int:
        return len(self.cells) * len(self.seeds)


def named(names: Sequence[str]) -> list[str]:
    """The items asked for, each once; `all` means every item of the paper."""
    check("item", names, [*ITEMS, ALL])
    if ALL in names:
        return [name for name, item in ITEMS.items() if item.shown or name in names]
    return list(dict.fromkeys(names))


def plan(name: str, wanted: Wanted = EVERYTHING) -> Plan:
    """The plan for the wanted part of an item."""
    return plans([name], wanted)[0]


def plans(names: Sequence[str], wanted: Wanted = EVERYTHING) -> list[Plan]:
    """The plans of items; of several, one that has nothing of what is wanted is left out."""
    check("item", names, ITEMS)
    where = names[0] if len(names) == 1 else "the plan"
    cells = {name: cells_of(ITEMS[name], wanted) for name in names}
    every = [one for name in names for one in (*references(ITEMS[name], cells[name]), *cells[name])]
    check(f"method of {where}", wanted.methods, [cell.method for cell in every])
    check_sizes(where, wanted.memory, [cell.memory for cell in every if cell.memory])
    found = [narrowed(name, cells[name], wanted) for name in names]
    if not any(one.cells for one in found):
        combination = "this combination of --methods, --data and --memory"
        raise UserError(f"{where} has no cell for {combination}")
    return [one for one in found if one.cells]


def cells_of(item: Item, wanted: Wanted) -> tuple[Cell, ...]:
    """The cells of all methods of an item on the wanted data."""
    cells = merged(placed(item.cells, wanted.data))
    return merged([*cells, *joining(cells, wanted.methods)])


def references(item: Item, cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The FINE-TUNE cells that the AI of cells refers to, if the item shows AI."""
    return merged(map(reference, cells)) if item.intransigence else ()


def narrowed(name: str, cells: Sequence[Cell], wanted: Wanted) -> Plan:
    """The plan for the wanted ones of an item's cells, with the references that they need."""
    item, kept = ITEMS[name], [cell for cell in cells if fits(cell, wanted)]
    needed = references(item, cells if REFERENCE in wanted.methods else kept)
    chosen = merged(adjusted([*needed, *kept], wanted.settings))
    return Plan(name, item, chosen, tuple(wanted.seeds) or tuple(range(item.seeds)))


def joining(cells: Sequence[Cell], methods: Sequence[str]) -> Iterator[Cell]:
    """The cells of methods from outside the package, which join an item everywhere.

    They have the settings that all cells of the item have, such as a large backbone, and every
    readout of it that applies to them.
    """
    replaying = [cell for cell in cells if cell.memory]
    settings = in_all([cell.settings for cell in replaying])
    also = dict.fromkeys(name for cell in replaying for name in cell.also)
    for method in methods:
        if method in REGISTERED:
            reads = settings_read_by(method)
            own = tuple((name, value) for name, value in settings if name in reads)
            readouts = applicable(tuple(also), method, own)
            yield from (
                replace(one, method=method, settings=own, also=readouts) for one in replaying
            )


def in_all(several: Sequence[Settings]) -> Settings:
    """The settings of the first that all others have, too."""
    first, *others = several or [()]
    return tuple(one for one in first if all(one in other for other in others))


def applicable(also: tuple[str, ...], method: str, settings: Settings) -> tuple[str, ...]:
    """The readouts that apply to a method with these settings."""
    from bison_ocl.experiments.train.also import fault
    from bison_ocl.methods.settings import configured

    chosen = configured(method, None, dict(settings))
    return tuple(name for name in also if fault(name, chosen) is None)


def check(kind: str, asked: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that an item does not have."""
    found = dict.fromkeys(known)
    for one in asked:
        if one not in found:
            raise UserError(unknown(kind, one, found))


def check_sizes(name: str, asked: Iterable[int], known: Iterable[int]) -> None:
    found = dict.fromkeys(known)
    for size in asked:
        if size not in found:
            choices = ", ".join(map(str, sorted(found)))
            raise UserError(f"{name} has no memory size {size} here: choose from {choices}")


def fits(cell: Cell, wanted: Wanted) -> bool:
    return (not wanted.methods or cell.method in wanted.methods) and (
        not wanted.memory or cell.memory in wanted.memory
    )


def placed(cells: Sequence[Cell], data: Sequence[str]) -> Iterator[Cell]:
    """The cells on these datasets; a dataset outside the item replaces its own in all cells."""
    used = {cell.data for cell in cells}
    for name in data or sorted(used, key=[cell.data for cell in cells].index):
        yield from (cell for cell in cells if cell.data == name)
        yield from (moved(cell, name) for cell in cells if name not in used)


def moved(cell: Cell, data: str) -> Cell:
    """A cell on another dataset, with the memory size of the same rank."""
    from bison_ocl.data import module_of

    module_of(data)
    sizes, rank = MEMORIES.get(data), MEMORIES[cell.data].index(cell.memory)
    return replace(cell, data=data, memory=sizes[rank] if sizes else cell.memory)


def reference(cell: Cell) -> Cell:
    """The FINE-TUNE cell that the AI of a cell refers to."""
    return Cell(REFERENCE, cell.data, 0, stream=cell.stream)


def merged(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Each cell once, with the inference rules of all its occurrences."""
    found: dict[Cell, dict[str, None]] = {}
    for cell in cells:
        found.setdefault(replace(cell, also=()), {}).update(dict.fromkeys(cell.also))
    return tuple(replace(cell, also=tuple(also)) for cell, also in found.items())


def adjusted(cells: Sequence[Cell], settings: Settings) -> Sequence[Cell]:
    """Cells with the user's settings, applied to the methods that read them."""
    if not (cells and settings):
        return cells
    reads = {cell.method: settings_read_by(cell.method) for cell in cells}
    check("setting", dict(settings), [name for names in reads.values() for name in names])
    found = [adapted(cell, settings, reads[cell.method]) for cell in cells]
    for cell in found:
        check_settings(cell)
    return found


def adapted(cell: Cell, settings: Settings, reads: Sequence[str]) -> Cell:
    read = {name: value for name, value in settings if name in reads}
    return replace(cell, settings=tuple((dict(cell.settings) | read).items()))


def check_settings(cell: Cell) -> None:
    """Refuse settings that the method of a cell, or one of its readouts, does not accept."""
    from bison_ocl.experiments.train.also import check_also
    from bison_ocl.methods.settings import configured

    try:
        check_also(cell.also, configured(cell.method, cell.data, dict(cell.settings)))
    except UserError as error:
        raise UserError(f"{cell.method}: {error}") from error


def settings_of_reference() -> list[str]:
    """The settings that change FINE-TUNE's accuracies; an average adds a readout only."""
    return [name for name in settings_read_by(REFERENCE) if name != "average"]


def settings_read_by(method: str) -> list[str]:
    """The settings that a method reads."""
    if (found := facts(method)) is None:
        raise UserError(unknown("method", method, METHODS))
    return [name for name in settings_on(method, "") if name not in found.ignores]
