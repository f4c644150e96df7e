"""Whether each part of BISON helps: dual classifiers, proxy-anchor loss, alignment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bison_ocl.report.claims.claim import Claim, cell_name, in_text
from bison_ocl.report.claims.standing import Lead, main_row
from bison_ocl.report.formats.markdown import escaped, grid
from bison_ocl.report.study.measures import AA
from bison_ocl.report.tables.marks import least_pairs
from bison_ocl.report.tables.table import LEVEL, Column, Comparison, Table

QUESTION = "Do dual classifiers, proxy-anchor loss and alignment each help?"
LEAD = "Lead: BISON's, on the seeds that both have (their number)."


@dataclass(frozen=True)
class Ablation:
    """BISON and its variants without a part, in a cell."""

    column: Column
    in_paper: bool
    whole: Comparison
    variants: Mapping[str, Comparison]

    @property
    def leads(self) -> dict[str, Lead]:
        return {
            name: Lead.over(cell, self.whole, self.column) for name, cell in self.variants.items()
        }

    def answer(self) -> str:
        leads = [*self.leads.values()]
        worse = [lead for lead in leads if lead.points > 0]
        few = sum(not lead.tested for lead in leads)
        where = cell_name(self.column) + ("" if self.in_paper else " (not in the paper)")
        found = (
            f"{where}: {len(worse)} of {len(leads)} variants without a part have a lower AA than "
            f"BISON, {sum(lead.differs for lead in worse)} of them significantly "
            f"(p < {LEVEL}, paired)."
        )
        if not few:
            return found
        return (
            f"{found} {few} of the variants {'has' if few == 1 else 'have'} fewer than "
            f"{least_pairs(tests=1)} seeds in common with BISON: too few for a significant "
            "difference."
        )

    def lines(self) -> list[list[str]]:
        """BISON, which has no lead, and the variants."""
        cell, leads = cell_name(self.column), self.leads
        return [
            line(cell, "BISON", self.whole),
            *(line(cell, name, one, leads[name]) for name, one in self.variants.items()),
        ]


def parts(ablation: Sequence[Table]) -> Claim:
    """AA of BISON without some of its parts, each tested against BISON, in every cell."""
    if not ablation:
        return Claim(QUESTION, "The ablation was not run.")
    found = list(ablations(ablation[0]))
    if not found:
        return Claim(QUESTION, "The ablation was not run with all parts.")
    rows = [line for one in found for line in one.lines()]
    shown = grid(("cell", "method", "AA", "lead", "p"), rows, numbers=3)
    return Claim(QUESTION, " ".join(one.answer() for one in found), (f"{LEAD}\n\n{shown}",))


def ablations(table: Table) -> Iterator[Ablation]:
    """The cells in which BISON and a variant were run."""
    whole = main_row(table)
    rows = [row for row in table.rows if not (row.label.main or row.label.reference)]
    for number, column in enumerate(table.columns):
        ran = {row.label.text: row.cells[number] for row in rows if row.cells[number].ours}
        if whole and column.measure == AA and whole.cells[number].ours and ran:
            yield Ablation(column, table.compared(number), whole.cells[number], ran)


def line(cell: str, name: str, one: Comparison, lead: Lead | None = None) -> list[str]:
    assert one.ours is not None
    ahead = f"{lead.points:+.1f} ({lead.seeds})" if lead else ""
    p = "" if one.p is None else f"{one.p:.3f}"
    return in_text(cell, escaped(name), f"{one.ours.mean:.1f}", ahead, p)
