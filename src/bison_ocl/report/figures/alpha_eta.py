"""Separation α and scales η of the classifiers, which BISON logs at task ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bison_ocl.look import PALETTE
from bison_ocl.report.figures.chart import Axis, Chart, Guide, NotShown
from bison_ocl.report.figures.curves import bands, curve, over_tasks
from bison_ocl.report.figures.panels import Panel, panels
from bison_ocl.report.study.experiments import Experiment, having, own
from bison_ocl.report.study.names import memory_name

LOGGED = {"alpha": "α (0: strongest separation)", "eta": "η: scale of the classifiers"}
DASHES = {"-": "solid", "--": "dashed", ":": "dotted"}


def alpha_eta(found: Sequence[Experiment]) -> list[Chart]:
    """What BISON logs at task ends: for each stream a chart of α and one of η."""
    known = having(own(found), lambda record: record.log and record.log[-1])
    sizes = sorted({one.place.memory for one in known})
    streams = panels(known, by_stream=True)
    made = [logged(stream, kind, sizes) for stream in streams for kind in LOGGED]
    shown = [chart for chart in made if chart.series]
    if not shown:
        raise NotShown("no run logs α or η")
    return shown


def logged(stream: Panel, kind: str, sizes: Sequence[int]) -> Chart:
    """Of one stream; several memory sizes have names and colours of their own."""
    lines = stream.lines
    several = len({one.place.memory for one in lines}) > 1
    names = dict.fromkeys(
        name for one in lines for name in one.first.log[-1] if name.startswith(kind)
    )
    drawn = []
    for place, (name, dashes) in enumerate(zip(names, DASHES, strict=False)):
        for one in lines:
            if name in one.first.log[-1]:
                values = [[entry.get(name) for entry in record.log] for record in one.records]
                size = one.place.memory
                changes = {"colour": PALETTE[sizes.index(size) % len(PALETTE)]} if several else {}
                made = curve(one, np.array(values, np.float64), 3, dashes=dashes, **changes)
                title = one.title + f", {memory_name(size)}" * several
                drawn.append(replace(made, name=title, listed=place == 0, order=size))
    heads = zip(names, DASHES.values(), strict=False)
    of = ", ".join(f"{name.removeprefix('eta_')} ({dashes})" for name, dashes in heads)
    label = LOGGED[kind] + f"\n{of}" * (len(names) > 1)
    start = ["Dotted: α = 0.5, where every task starts."] * (kind == "alpha")
    return Chart(
        stream.title,
        over_tasks(drawn) if drawn else Axis(),
        Axis(label, limits=(0, 1) if start else (None, None)),
        drawn,
        guides=[Guide(y=0.5, dashes=":")] * len(start),
        notes=["At the end of each task, mean over runs.", *bands(drawn), *start],
    )
