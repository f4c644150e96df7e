"""The tables of BISON's two weights: β down, λ across, one for each stream and memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from bison_ocl.experiments.records.spec import Spec
from bison_ocl.report.study import names
from bison_ocl.report.study.groups import Group, compared
from bison_ocl.report.study.labels import MAIN_METHOD, Label
from bison_ocl.report.study.measures import AA, AF_TABLE, AI
from bison_ocl.report.study.paper import Published
from bison_ocl.report.study.places import Place, in_order
from bison_ocl.report.tables.build import filled, planned_seeds, printed_in, stream_names, title_of
from bison_ocl.report.tables.cells import Column, Table
from bison_ocl.report.tables.marks import marked
from bison_ocl.stream.streams import DEFAULT

WEIGHTS = ("beta", "lambda")


def sensitivity(item: str, groups: Sequence[Group]) -> list[Table]:
    """A table for each place: AA, AF and AI over both weights."""
    found = [group for group in compared(groups) if set(WEIGHTS) <= group.first.settings.keys()]
    streams = stream_names(found)
    return [
        grid(item, place, [group for group in found if group.place == place], streams[place])
        for place in in_order(streams)
    ]


def grid(item: str, place: Place, groups: Sequence[Group], stream: str) -> Table:
    weights = sorted({group.first.settings["lambda"] for group in groups})
    columns = tuple(
        Column(place, measure.label, f"λ = {weight:g}", measure, weight)
        for measure in (AA, AF_TABLE, AI)
        for weight in weights
    )
    title = f"{title_of(item)}: {stream}, {names.memory_name(place.memory)}"
    seeds = planned_seeds(item)
    blank = Table(file_name(item, place), title, columns, heading="", category="", planned=seeds)
    table = filled(
        blank,
        sorted(groups, key=lambda group: group.first.settings["beta"]),
        by_beta,
        partial(printed_choice, item, names.preset(MAIN_METHOD, place.data)["lambda"]),
        setting_of=lambda group: group.first.settings["lambda"],
    )
    return marked(table, whole_group=True, tested=False)


def file_name(item: str, place: Place) -> str:
    """`sensitivity-split-cifar10-200`; a folder's data have / and : in their name."""
    unusual = [place.options] * (place.options != "{}") + [place.stream] * (place.stream != DEFAULT)
    return re.sub(r"[^\w.]+", "-", "-".join([item, place.data, *unusual, str(place.memory)]))


def by_beta(record: Spec) -> Label:
    """The line of a β; the paper prints one cell, at the weights that it uses."""
    changed = names.variant(record, shown=WEIGHTS)
    beta = record.settings["beta"]
    usual = not changed and beta == names.preset(MAIN_METHOD, record.data)["beta"]
    text = f"β = {beta:g}" + (f" ({changed})" if changed else "")
    return Label(text, printed=record.method if usual else None)


def printed_choice(item: str, chosen: float, label: Label, column: Column) -> Published | None:
    return printed_in(item, label, column) if column.setting == chosen else None
