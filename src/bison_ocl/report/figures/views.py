"""Which figures an item of the paper has, and what anything else gets; all of them as files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.look import Look
from bison_ocl.report.figures.accuracy import accuracy
from bison_ocl.report.figures.alpha_eta import alpha_eta
from bison_ocl.report.figures.bars import metric_bars, newest_precision, time_bars
from bison_ocl.report.figures.chart import Chart, NotShown
from bison_ocl.report.figures.confusion import confusion
from bison_ocl.report.figures.curves import curves, losses
from bison_ocl.report.figures.drawing.figure import figure
from bison_ocl.report.figures.drawing.save import KINDS, save
from bison_ocl.report.figures.interplay import interplay
from bison_ocl.report.figures.similar import similar_curves
from bison_ocl.report.figures.sweeps import buffer_batch, over_settings, sensitivity
from bison_ocl.report.study.entry import Entry, by_own_rule
from bison_ocl.report.study.experiments import Experiment, experiments
from bison_ocl.report.study.looks import looks_of
from bison_ocl.report.study.study import Study

Charts = Callable[[Sequence[Experiment]], list[Chart]]

VIEWS: dict[str, dict[str, Charts]] = {
    "table1": {
        "interplay": interplay,
        "curves": curves,
        "beside-paper": accuracy,
        "alpha-eta": alpha_eta,
    },
    "ablation": {"ablation": metric_bars, "curves": curves, "alpha-eta": alpha_eta},
    "ncm": {"beside-paper": accuracy, "curves": curves},
    "directions": {"directions": metric_bars, "curves": curves, "alpha-eta": alpha_eta},
    "time": {"time": time_bars},
    "confusion": {"confusion": confusion, "newest-precision": newest_precision},
    "similar-pairs": {"curves": similar_curves},
    "curves": {"curves": curves, "losses": losses},
    "balance": {"interplay": interplay},
    "sensitivity": {"sensitivity": sensitivity},
    "feature-enhancement": {"beside-paper": accuracy, "curves": curves},
    "buffer-batch": {"buffer-batch": buffer_batch},
    "efficiency": {"time": time_bars},
    "beyond": {"curves": curves, "time": time_bars},
}
"""By item, then by name."""

GENERIC: dict[str, Charts] = {
    "sweep": over_settings,
    "curves": curves,
    "interplay": interplay,
    "confusion": confusion,
    "time": time_bars,
    "alpha-eta": alpha_eta,
    "losses": losses,
}
"""For any other folder."""

RESCORED = ("ncm", "confusion", "similar-pairs", "beyond")
"""Items that are about other inference rules; elsewhere in the paper these only ride along."""
MOST = 24
"""charts of one figure"""


@dataclass(frozen=True)
class Saved:
    """The figures of an item."""

    files: list[Path]
    """each in every format"""
    missing: list[str]
    """which ones there cannot be, and why"""


def save_all(
    study: Study, folder: Path, formats: Collection[str] = KINDS, width: float | None = None
) -> dict[str, Saved]:
    """Write the figures of every item. width: of a figure, in inches."""
    found, looks = {item: Saved([], []) for item in study.items}, looks_of(study.items.values())
    for item, records in study.items.items():
        for name, made in charted(item, records, looks):
            if isinstance(made, str):
                found[item].missing.append(f"no figure {name}: {made}")
            elif KINDS.keys() & set(formats):  # laying out a figure takes as long as drawing it
                found[item].files.extend(save(figure(made, width), folder / name, formats))
    return found


def charted(
    item: str, records: Sequence[Entry], looks: Mapping[str, Look] | None = None
) -> Iterator[tuple[str, list[Chart] | str]]:
    """The charts of an item's figures by the names of their files, or why there is none.

    looks: of the methods of the whole study, by default of the item.
    """
    shown = by_own_rule(records) if item in ITEMS and item not in RESCORED else records
    found = experiments(item, shown, looks)
    for view, charts in VIEWS.get(item, GENERIC).items():
        name = item if view == item else f"{item}-{view}"
        try:
            made = charts(found)
            many = f"{len(made)} charts are too many for one figure"
            if made:
                yield name, made if len(made) <= MOST else many
        except NotShown as reason:
            yield name, str(reason)
