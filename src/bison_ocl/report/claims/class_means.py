"""Whether nearest class mean on the baselines' networks closes the gap to BISON."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from bison_ocl.experiments.records.spec import under_rule
from bison_ocl.report.claims.claim import Claim, in_text
from bison_ocl.report.formats.markdown import escaped, grid
from bison_ocl.report.study.experiments import Experiment, by_own_rule
from bison_ocl.report.study.labels import MAIN_METHOD
from bison_ocl.report.study.measures import AA
from bison_ocl.report.tables.marks import against, testable
from bison_ocl.report.tables.table import LEVEL

NCM = "ncm"
Values = Mapping[Hashable, float]
"""AA by stream and seed"""


@dataclass(frozen=True)
class Cell:
    """AA of a method in a cell, by its own rule and by class means, and BISON's."""

    own: Values
    means: Values
    main: Values

    @property
    def gain(self) -> float:
        return mean_difference(self.means, self.own)

    @property
    def lead(self) -> float:
        """BISON's lead in AA over the method by class means."""
        return mean_difference(self.main, self.means)

    @property
    def tested(self) -> bool:
        return testable(len(self.means.keys() & self.main.keys()))

    @property
    def differs(self) -> bool:
        (p,) = against(self.main, [self.means])
        return p is not None and p < LEVEL


def mean_difference(one: Values, other: Values) -> float:
    """Mean difference over the runs that both have."""
    return fmean(one[run] - other[run] for run in one.keys() & other.keys())


def by_class_means(found: Sequence[Experiment]) -> Claim:
    """Gain of each method by class means, and the lead that BISON keeps."""
    by_method = dict(cells_of_methods(found))
    every = [cell for cells in by_method.values() for cell in cells]
    reached = {name: sum(cell.lead <= 0 for cell in cells) for name, cells in by_method.items()}
    where = [f"{name} in {n} of {len(by_method[name])}" for name, n in reached.items() if n]
    answer = "Nearest class mean was not run on other networks."
    if every:
        answer = (
            f"Nearest class mean reaches BISON in {sum(reached.values())} of {len(every)} cells"
            + (f": {', '.join(where)}." if where else ".")
        )
    text = (
        "Gain: AA by nearest class mean minus AA by the method's own rule. Lead: AA of BISON minus "
        "AA by nearest class mean, on the seeds that both have. Both are means over cells, in "
        "points. The last two columns count the cells where nearest class mean reaches BISON, and "
        f"where the two differ (p < {LEVEL}, paired, not corrected), of those with enough common "
        "seeds for a test."
    )
    head = ("method", "cells", "gain", "BISON's lead", "reaches BISON", "differs")
    rows = [row(name, cells) for name, cells in by_method.items()]
    details = (f"{text}\n\n{grid(head, rows, numbers=5)}",) if rows else ()
    question = "Does nearest class mean on the baselines' networks close the gap?"
    return Claim(question, answer, details)


def cells_of_methods(found: Sequence[Experiment]) -> Iterator[tuple[str, list[Cell]]]:
    """The cells of each method that was read by class means, and that BISON was run in."""
    values = {(one.method, one.label.superseded, one.place): one.values(AA.of) for one in found}
    places = dict.fromkeys(one.place for one in found)
    for line in {one.title: one for one in by_own_rule(found)}.values():
        reading = line.label.superseded
        cells = [
            Cell(
                values.get((line.method, reading, place), {}),
                values.get((under_rule(line.method, NCM), reading, place), {}),
                values.get((MAIN_METHOD, False, place), {}),
            )
            for place in places
        ]
        if ran := [cell for cell in cells if cell.means.keys() & cell.main.keys()]:
            yield line.title, ran


def row(name: str, cells: Sequence[Cell]) -> list[str]:
    able = [cell for cell in cells if cell.tested]
    return in_text(
        escaped(name),
        len(cells),
        f"{fmean(cell.gain for cell in cells):+.1f}",
        f"{fmean(cell.lead for cell in cells):+.1f}",
        sum(cell.lead <= 0 for cell in cells),
        f"{sum(cell.differs for cell in able)} of {len(able)}",
    )
