"""Every table and figure of the paper as a list of cells to train, with their seeds.

Wen, Heinis & Choi 2026; and `beyond`, which is ours. This file imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from bison_ocl.stream.streams import DEFAULT

Settings = tuple[tuple[str, str], ...]
Place = tuple[str, int]
"""A dataset and a memory size."""


@dataclass(frozen=True)
class Cell:
    """One method on one dataset and memory size, with its deviations from the preset."""

    method: str
    data: str
    memory: int
    settings: Settings = ()
    stream: str = DEFAULT
    also: tuple[str, ...] = ()
    """other inference rules on the same networks"""


@dataclass(frozen=True)
class Item:
    """A table or a figure."""

    title: str
    shown: str
    """where the paper shows it; nowhere, if it is ours: `all` leaves it out"""
    cells: tuple[Cell, ...]
    seeds: int = 10
    intransigence: bool = False
    """whether it reports AI and so needs FINE-TUNE runs as reference"""
    alone: bool = False
    """whether it measures time or memory: one seed at a time, nothing in parallel or copied"""


C10, C100, MINI = "split-cifar10", "split-cifar100", "split-miniimagenet"
MEMORIES = {
    "split-digits": (100, 200, 500),
    C10: (200, 500, 1000),
    C100: (1000, 2000, 5000),
    MINI: (1000, 2000, 5000),
    "split-tinyimagenet": (1000, 2000, 5000),
}
"""The paper's memory sizes, and substitutes for datasets outside the paper."""

COMPARED = (
    *("er", "gss", "mir", "agem", "gdumb", "scr", "aser"),
    *("ssil", "er-dvc", "er-ace", "ocm", "pcr", "lode", "bison"),
)
"""The rows of the main tables except FINE-TUNE."""

RESCORED = ("er", "er-ace", "pcr", "lode")
"""Methods that the NCM table scores by their own rule and by NCM."""

BY_CLASS_MEANS = ("scr", "bison")
"""Methods that predict by nearest class mean themselves."""

REFERENCE = "finetune"
"""the method whose accuracy right after each task is a*_j, the reference of AI"""
BY_POSITION: Settings = (("old_logits", "position"),)
"""The reading of OCM that the paper's numbers support (docs/READINGS.md)."""


def everywhere(places: Iterable[Place]) -> tuple[Cell, ...]:
    """Every method of the main tables in these places, OCM in both readings."""
    return tuple(
        cell
        for place in places
        for method in COMPARED
        for cell in (plain(method, *place), *by_position(method, *place))
    )


def plain(method: str, data: str, memory: int, settings: Settings = ()) -> Cell:
    """A cell of the main tables, also scored by NCM so that the NCM table can share it."""
    also = () if method in BY_CLASS_MEANS else ("ncm",)
    return Cell(method, data, memory, settings, also=also)


def by_position(method: str, data: str, memory: int) -> tuple[Cell, ...]:
    """OCM's other reading; nothing for other methods."""
    return (plain(method, data, memory, BY_POSITION),) if method == "ocm" else ()


def bison(data: str, memory: int, **settings: object) -> Cell:
    """A cell of BISON with these settings."""
    texts = tuple((name.rstrip("_"), str(value)) for name, value in settings.items())
    return Cell("bison", data, memory, texts)


def large(method: str, memory: int) -> Cell:
    """A cell of the feature-enhancement setting: 64 filters, buffer batch 64, natural order."""
    settings = (("filters", "64"), ("buffer_batch", "64"))
    return Cell(method, C100, memory, settings, stream="natural")


def confused(method: str, also: tuple[str, ...] = ()) -> Cell:
    """A cell of the confusion study, which puts similar classes into different tasks."""
    return Cell(method, C10, 500, stream="order:confusion", also=also)


AVERAGED: Settings = (("average", "0.995"),)
"""What all cells of `beyond` have: a missing average would be another run."""


def beyond(data: str, memory: int) -> tuple[Cell, ...]:
    """Ours and five methods of the paper, each network trained once and read in several ways."""
    centred = ("averaged+ld-centred-mirror", "averaged+ld-centred-crop")
    readouts = ("averaged", "averaged+ld", "averaged+ld-mirror", *centred)
    parts = ("ncm", "averaged+ncm", "averaged+ncm-mirror", "averaged+ld", *centred)
    return (
        *(
            Cell(method, data, memory, AVERAGED, also=readouts)
            for method in ("er", "er-ace", "pcr", "lode", "bison")
        ),
        Cell("bison-ald", data, memory, AVERAGED, also=parts),
        Cell("bison-ald", data, memory, (*AVERAGED, ("buffer_batch", "64")), also=parts),
    )


CONFUSED = (confused("er", ("ncm",)), confused("ssil", ("ncm",)), confused("bison"))

ITEMS = {
    "table1": Item(
        "Accuracy, forgetting and intransigence of every method",
        "Tables 1, A1, A2",
        everywhere((data, memory) for data in (C100, C10, MINI) for memory in MEMORIES[data]),
        intransigence=True,
    ),
    "ablation": Item(
        "BISON without its parts",
        "Table 2",
        (
            bison(MINI, 1000),
            bison(MINI, 1000, paf="off"),
            bison(MINI, 1000, pal="off"),
            bison(MINI, 1000, pal="off", paf="off"),
            bison(MINI, 1000, dc="false", paf="off"),
            bison(MINI, 1000, dc="false", pal="off", paf="off"),
        ),
        intransigence=True,
    ),
    "ncm": Item(
        "Nearest class mean on networks of other methods",
        "Table 3",
        tuple(
            plain(method, MINI, memory)
            for method in (*RESCORED, "scr", "bison")
            for memory in MEMORIES[MINI]
        ),
    ),
    "directions": Item(
        "Directions of knowledge interaction",
        "Figure 5",
        tuple(
            bison(data, memory, pal=pal, paf=paf)
            for data, memory in ((C100, 1000), (C10, 500))
            for pal, paf in product(("bs", "sb"), ("sb", "bs"))
        ),
        intransigence=True,
    ),
    "time": Item(
        "Execution time of every method",
        "Figure 6",
        tuple(Cell(method, C10, 1000) for method in COMPARED),
        seeds=3,
        alone=True,
    ),
    "confusion": Item(
        "Confusion matrices, precision of the newest classes", "Figure 7", CONFUSED, seeds=3
    ),
    "similar-pairs": Item(
        "Confusion within pairs of similar classes", "Figure 8", CONFUSED, seeds=3
    ),
    "curves": Item(
        "Accuracy after each task",
        "Figure A1",
        everywhere(((C100, 1000), (C10, 500), (MINI, 1000))),
        intransigence=True,
    ),
    "balance": Item(
        "Interplay of forgetting and intransigence",
        "Figures 1, 4",
        everywhere(((MINI, 1000), (C100, 2000), (C10, 500), (MINI, 2000))),
        intransigence=True,
    ),
    "sensitivity": Item(
        "Weights of BISON's losses: accuracy and balance",
        "Figure A2",
        (
            *(
                bison(C10, 200, beta=beta, lambda_=weight)
                for beta in (0.05, 0.1, 0.15, 0.2)
                for weight in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
            ),
            *(  # not printed in the paper; covers the plateau that its text describes
                bison(MINI, 1000, beta=beta, lambda_=weight)
                for beta in (0.1, 0.2, 0.3, 0.4)
                for weight in (1.0, 5.0, 10.0, 15.0, 20.0)
            ),
        ),
        intransigence=True,
    ),
    "feature-enhancement": Item(
        "A large backbone and buffer batch, classes in natural order",
        "Table A3",
        (  # the paper quotes the rest of the table from the papers of OCM and OnPro
            *(
                large(method, memory)
                for method in ("scr", "pcr", "bison")
                for memory in MEMORIES[C100]
            ),
            large("onpro", 5000),
        ),
        seeds=15,
    ),
    "buffer-batch": Item(
        "Size of the buffer batch",
        "Figure A3",
        tuple(bison(C100, 2000, buffer_batch=size) for size in (10, 16, 32, 64, 100)),
    ),
    "efficiency": Item(
        "Parameters and peak memory",
        "Table A4",
        tuple(
            Cell(method, *place)
            for place in ((C10, 1000), (C100, 5000))
            for method in ("er", "bison")
        ),
        seeds=1,
        alone=True,
    ),
    "beyond": Item(
        "Averaged weights, discriminant and mirror images, on five methods and ours",
        "",
        tuple(
            cell
            for data in (C100, C10, MINI)
            for memory in MEMORIES[data]
            for cell in beyond(data, memory)
        ),
        seeds=5,
    ),
}
"""By name, in the order of `reproduce --list`."""
