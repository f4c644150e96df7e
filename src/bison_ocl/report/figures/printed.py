"""What the paper prints for an experiment, where it is the paper's."""

from __future__ import annotations

from bison_ocl.experiments.intransigence import REFERENCE
from bison_ocl.experiments.paper import ITEMS
from bison_ocl.report.figures.panels import Line
from bison_ocl.report.names import method_name
from bison_ocl.report.paper import lines, published
from bison_ocl.report.places import Place, place_of


def printed(line: Line, metric: str, item: str = "table1") -> float | None:
    """A number of the paper in percent; None for a stream or settings that it does not have."""
    place, name = place_of(line.group.first), line.label.printed
    if name is None or not is_paper(place, item):
        return None
    data, _, _, memory = place
    found = published(item, metric, name, data, memory)
    return None if found is None else found.mean


def quoted(place: Place, item: str) -> dict[str, float | None]:
    """All that the paper prints of AA at a place, by the names of the methods."""
    data, _, _, memory = place
    found = {
        name: published(item, "AA", name, data, memory)
        for name in lines(item, "AA", data)
        if name != REFERENCE and is_paper(place, item)
    }
    return {method_name(name): number.mean for name, number in found.items() if number}


def is_paper(place: Place, item: str) -> bool:
    """Whether an item of the paper runs there."""
    data, options, stream, _ = place
    streams = {(cell.data, cell.stream) for cell in ITEMS[item].cells}
    return options == "{}" and (data, stream) in streams
