"""Whether each part of BISON helps: dual classifiers, proxy-anchor loss, alignment."""

from __future__ import annotations

from collections.abc import Sequence

from bison_ocl.report.claims.claim import Claim, in_text
from bison_ocl.report.claims.standing import Lead, main_row
from bison_ocl.report.formats.markdown import escaped, grid
from bison_ocl.report.tables.marks import least_pairs
from bison_ocl.report.tables.table import LEVEL, Comparison, Table

QUESTION = "Do dual classifiers, proxy-anchor loss and alignment each help?"
LEAD = "Lead: BISON's, on the seeds that both have (their number)."


def parts(ablation: Sequence[Table]) -> Claim:
    """AA of BISON without some of its parts, each tested against BISON."""
    if not ablation:
        return Claim(QUESTION, "The ablation was not run.")
    table = ablation[0]
    number = next(n for n, column in enumerate(table.columns) if column.measure.name == "AA")
    whole, column = main_row(table), table.columns[number]
    if whole is None or not whole.cells[number].ours:
        return Claim(QUESTION, "The ablation was not run with all parts.")
    own = whole.cells[number]
    others = [row for row in table.rows if not (row.label.main or row.label.reference)]
    ran = {row.label.text: row.cells[number] for row in others if row.cells[number].ours}
    leads = {name: Lead.over(cell, own, column) for name, cell in ran.items()}
    rows = [
        line(whole.label.text, own),
        *(line(name, cell, leads[name]) for name, cell in ran.items()),
    ]
    shown = grid(("method", "AA", "lead", "p"), rows, numbers=3)
    return Claim(QUESTION, answer([*leads.values()]), (f"{LEAD}\n\n{shown}",))


def answer(leads: Sequence[Lead]) -> str:
    worse = [lead for lead in leads if lead.points > 0]
    few = sum(not lead.tested for lead in leads)
    found = (
        f"{len(worse)} of {len(leads)} variants without a part have a lower AA than BISON, "
        f"{sum(lead.differs for lead in worse)} of them significantly (p < {LEVEL}, paired)."
    )
    if not few:
        return found
    return (
        f"{found} {few} of the variants {'has' if few == 1 else 'have'} fewer than "
        f"{least_pairs(tests=1)} seeds in common with BISON: too few for a significant difference."
    )


def line(name: str, cell: Comparison, lead: Lead | None = None) -> list[str]:
    """A variant, or BISON itself, which has no lead."""
    assert cell.ours is not None
    ahead = f"{lead.points:+.1f} ({lead.seeds})" if lead else ""
    p = "" if cell.p is None else f"{cell.p:.3f}"
    return in_text(escaped(name), f"{cell.ours.mean:.1f}", ahead, p)
