"""Separation α and scales η of the classifiers, which BISON logs at task ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bison_ocl.look import PALETTE
from bison_ocl.report.figures.chart import Axis, Chart, Guide, NotShown
from bison_ocl.report.figures.curves import curve, over_tasks
from bison_ocl.report.figures.panels import Panel, panels
from bison_ocl.report.study.experiments import Experiment, by_own_rule, having
from bison_ocl.report.study.names import memory_name

LOGGED = {"alpha": "α (0: strongest separation)", "eta": "η: scale of the classifiers"}
DASHES = {"-": "solid", "--": "dashed", ":": "dotted"}


def alpha_eta(experiments: Sequence[Experiment]) -> list[Chart]:
    """What BISON logs at task ends: for each stream a chart of α and one of η."""
    known = having(by_own_rule(experiments), lambda record: record.log and record.log[-1])
    sizes = sorted({one.place.memory for one in known})
    made = [
        logged(stream, kind, names, sizes)
        for stream in panels(known, by_stream=True)
        for kind in LOGGED
        if (names := names_of(kind, stream))
    ]
    if not made:
        raise NotShown("no run logs α or η")
    return made


def names_of(kind: str, stream: Panel) -> list[str]:
    """The logged numbers of a kind, such as one η per classifier."""
    logged = [name for one in stream.lines for name in one.first.log[-1]]
    return list(dict.fromkeys(name for name in logged if name.startswith(kind)))


def logged(stream: Panel, kind: str, names: Sequence[str], sizes: Sequence[int]) -> Chart:
    """Logged numbers on one stream, with a name and a colour for each memory size."""
    several = len({one.place.memory for one in stream.lines}) > 1
    drawn = []
    for place, (name, dashes) in enumerate(zip(names, DASHES, strict=False)):
        for one in stream.lines:
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
    return over_tasks(
        stream.title,
        drawn,
        Axis(label, limits=(0, 1) if start else (None, None)),
        "At the end of each task, mean over runs.",
        *start,
        guides=[Guide(y=0.5, dashes=":")] * len(start),
    )
