"""The tables of BISON's two weights: β down, λ across, one for each stream and memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from bison_ocl.report.study import names
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.labels import MAIN_METHOD
from bison_ocl.report.study.measures import AA, AF_TABLE, AI
from bison_ocl.report.study.paper import Published
from bison_ocl.report.study.places import Place, compared, in_order, place_of
from bison_ocl.report.tables.arrange import stream_names
from bison_ocl.report.tables.build import build, planned_seeds, printed_in, title_of
from bison_ocl.report.tables.cells import Column, Label, Table
from bison_ocl.report.tables.marks import marked
from bison_ocl.stream.streams import DEFAULT

WEIGHTS = ("beta", "lambda")


def sensitivity(item: str, records: Sequence[Entry]) -> list[Table]:
    """A table for each place: AA, AF and AI over both weights."""
    found = [record for record in compared(records) if set(WEIGHTS) <= record.settings.keys()]
    streams = stream_names(found)
    return [
        grid(item, [record for record in found if place_of(record) == place], streams[place])
        for place in in_order(streams)
    ]


def grid(item: str, records: Sequence[Entry], stream: str) -> Table:
    place = place_of(records[0])
    data, _, _, memory = place
    weights = sorted({record.settings["lambda"] for record in records})
    columns = tuple(
        Column(place, measure.label, f"λ = {weight:g}", measure, weight)
        for measure in (AA, AF_TABLE, AI)
        for weight in weights
    )
    blank = Table(
        file_name(item, place),
        f"{title_of(item)}: {stream}, {names.memory_name(memory)}",
        columns,
        (),
        heading="",
        category="",
        planned=planned_seeds(item),
    )
    filled = build(
        blank,
        sorted(records, key=lambda record: record.settings["beta"]),
        by_beta,
        partial(printed_choice, item, names.preset(MAIN_METHOD, data)["lambda"]),
        setting_of=lambda record: record.settings["lambda"],
    )
    return marked(filled, whole_group=True, tested=False)


def file_name(item: str, place: Place) -> str:
    """`sensitivity-split-cifar10-200`; a folder's data have / and : in their name."""
    data, options, stream, memory = place
    unusual = [options] * (options != "{}") + [stream] * (stream != DEFAULT)
    return re.sub(r"[^\w.]+", "-", "-".join([item, data, *unusual, str(memory)]))


def by_beta(record: Entry) -> Label:
    """The line of a β; the paper prints one cell, at the weights that it uses."""
    changed = names.variant(record, shown=WEIGHTS)
    beta = record.settings["beta"]
    usual = not changed and beta == names.preset(MAIN_METHOD, record.data)["beta"]
    text = f"β = {beta:g}" + (f" ({changed})" if changed else "")
    return Label(text, printed=record.method if usual else None)


def printed_choice(item: str, chosen: float, label: Label, column: Column) -> Published | None:
    return printed_in(item, label, column) if column.setting == chosen else None
