"""Which figures an item of the paper has, and what anything else gets; all of them as files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from bison_ocl.experiments.intransigence import REFERENCE
from bison_ocl.experiments.paper import ITEMS
from bison_ocl.experiments.records import Record
from bison_ocl.report.build import labelled
from bison_ocl.report.cells import Label
from bison_ocl.report.figures.ablation import ablation
from bison_ocl.report.figures.alpha_eta import alpha_eta
from bison_ocl.report.figures.beside_paper import beside_paper
from bison_ocl.report.figures.buffer_batch import buffer_batch
from bison_ocl.report.figures.confusion import confusion
from bison_ocl.report.figures.curves import curves
from bison_ocl.report.figures.directions import directions
from bison_ocl.report.figures.groups import NotShown
from bison_ocl.report.figures.interplay import interplay
from bison_ocl.report.figures.losses import losses
from bison_ocl.report.figures.newest_precision import newest_precision
from bison_ocl.report.figures.save import save
from bison_ocl.report.figures.sensitivity import sensitivity
from bison_ocl.report.figures.similar_bars import similar_bars
from bison_ocl.report.figures.similar_curves import similar_curves
from bison_ocl.report.figures.time_bars import time_bars
from bison_ocl.report.folder import Study
from bison_ocl.report.layouts import direction, parts

Draw = Callable[[Sequence[Record]], Figure]
log = logging.getLogger(__name__)

in_large = partial(labelled, usual={"filters": 64, "buffer_batch": 64})
"""the feature-enhancement setting is no variant where all methods have it"""


def direction_or_method(record: Record) -> Label:
    """FINE-TUNE has no directions."""
    return labelled(record) if record["method"] == REFERENCE else direction(record)


VIEWS: dict[str, dict[str, Draw]] = {
    "table1": {
        "interplay": interplay,
        "curves": curves,
        "beside-paper": beside_paper,
        "alpha-eta": alpha_eta,
    },
    "ablation": {
        "ablation": ablation,
        "curves": partial(curves, label_of=parts, item="ablation"),
        "alpha-eta": partial(alpha_eta, label_of=parts),
    },
    "ncm": {
        "beside-paper": partial(beside_paper, item="ncm"),
        "curves": partial(curves, item="ncm"),
    },
    "directions": {
        "directions": directions,
        "curves": partial(curves, label_of=direction_or_method),
        "alpha-eta": partial(alpha_eta, label_of=direction),
    },
    "time": {"time": time_bars},
    "confusion": {"confusion": confusion, "newest-precision": newest_precision},
    "similar-pairs": {"curves": similar_curves, "bars": similar_bars},
    "curves": {"curves": curves, "losses": losses},
    "balance": {"interplay": interplay},
    "sensitivity": {"sensitivity": sensitivity},
    "feature-enhancement": {
        "beside-paper": partial(beside_paper, item="feature-enhancement", label_of=in_large),
        "curves": partial(curves, item="feature-enhancement", label_of=in_large),
    },
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


def save_all(study: Study, folder: Path, say: Callable[[str], None] = log.info) -> list[Path]:
    """Write the figures of every item as PNG, SVG and PDF; say which ones there cannot be."""
    paths = []
    for item, records in study.items.items():
        for name, made in drawn(item, records):
            if isinstance(made, Figure):
                paths += save(made, folder / name)
            else:
                say(f"no figure {name}: {made}")
    return paths


def drawn(item: str, records: Sequence[Record]) -> Iterator[tuple[str, Figure | str]]:
    """The figures of an item by the names of their files, or why there is none."""
    shown = records
    if item in ITEMS and item not in RESCORED:
        shown = [record for record in records if not record.get("rule")]
    for view, draw in VIEWS.get(item, GENERIC).items():
        name = item if view == item else f"{item}-{view}"
        try:
            yield name, draw(shown)
        except NotShown as reason:
            yield name, str(reason)
