"""Which figures an item of the paper has, and what anything else gets; all of them as files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.report.figures.alpha_eta import alpha_eta
from bison_ocl.report.figures.beside_paper import beside_paper
from bison_ocl.report.figures.buffer_batch import buffer_batch
from bison_ocl.report.figures.confusion import confusion
from bison_ocl.report.figures.curves import curves
from bison_ocl.report.figures.drawing.save import save
from bison_ocl.report.figures.interplay import interplay
from bison_ocl.report.figures.losses import losses
from bison_ocl.report.figures.metric_bars import metric_bars
from bison_ocl.report.figures.newest_precision import newest_precision
from bison_ocl.report.figures.sensitivity import sensitivity
from bison_ocl.report.figures.similar_bars import similar_bars
from bison_ocl.report.figures.similar_curves import similar_curves
from bison_ocl.report.figures.time_bars import time_bars
from bison_ocl.report.study.entry import Entry, own
from bison_ocl.report.study.groups import NotShown
from bison_ocl.report.study.study import Study

Draw = Callable[[str, Sequence[Entry]], Figure]

VIEWS: dict[str, dict[str, Draw]] = {
    "table1": {
        "interplay": interplay,
        "curves": curves,
        "beside-paper": beside_paper,
        "alpha-eta": alpha_eta,
    },
    "ablation": {"ablation": metric_bars, "curves": curves, "alpha-eta": alpha_eta},
    "ncm": {"beside-paper": beside_paper, "curves": curves},
    "directions": {"directions": metric_bars, "curves": curves, "alpha-eta": alpha_eta},
    "time": {"time": time_bars},
    "confusion": {"confusion": confusion, "newest-precision": newest_precision},
    "similar-pairs": {"curves": similar_curves, "bars": similar_bars},
    "curves": {"curves": curves, "losses": losses},
    "balance": {"interplay": interplay},
    "sensitivity": {"sensitivity": sensitivity},
    "feature-enhancement": {"beside-paper": beside_paper, "curves": curves},
    "buffer-batch": {"buffer-batch": buffer_batch},
    "efficiency": {"time": time_bars},
}
"""By item, then by name."""

GENERIC: dict[str, Draw] = {
    "curves": curves,
    "interplay": interplay,
    "confusion": confusion,
    "time": time_bars,
    "alpha-eta": alpha_eta,
    "losses": losses,
}
"""For any other folder."""

RESCORED = ("ncm", "confusion", "similar-pairs")
"""Items that are about other inference rules; elsewhere in the paper these only ride along."""


@dataclass(frozen=True)
class Saved:
    """The figures of an item."""

    files: list[Path]
    """each as PNG, SVG and PDF"""
    missing: list[str]
    """which ones there cannot be, and why"""


def save_all(study: Study, folder: Path) -> dict[str, Saved]:
    """Write the figures of every item."""
    return {item: save_item(item, records, folder) for item, records in study.items.items()}


def save_item(item: str, records: Sequence[Entry], folder: Path) -> Saved:
    saved = Saved([], [])
    for name, made in drawn(item, records):
        if isinstance(made, Figure):
            saved.files.extend(save(made, folder / name))
        else:
            saved.missing.append(f"no figure {name}: {made}")
    return saved


def drawn(item: str, records: Sequence[Entry]) -> Iterator[tuple[str, Figure | str]]:
    """The figures of an item by the names of their files, or why there is none."""
    shown = own(records) if item in ITEMS and item not in RESCORED else records
    for view, draw in VIEWS.get(item, GENERIC).items():
        name = item if view == item else f"{item}-{view}"
        try:
            yield name, draw(item, shown)
        except NotShown as reason:
            yield name, str(reason)
