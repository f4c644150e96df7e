"""Whether each part of BISON helps: dual classifiers, proxy-anchor loss, alignment."""

from __future__ import annotations

from collections.abc import Sequence

from bison_ocl.report.claims.claim import Claim, in_text
from bison_ocl.report.formats.markdown import escaped, grid
from bison_ocl.report.tables.table import LEVEL, Table

QUESTION = "Do dual classifiers, proxy-anchor loss and alignment each help?"


def parts(ablation: Sequence[Table]) -> Claim:
    """AA of BISON without some of its parts, each tested against BISON."""
    if not ablation:
        return Claim(QUESTION, "The ablation was not run.")
    table = ablation[0]
    number = next(n for n, column in enumerate(table.columns) if column.measure.name == "AA")
    cells = [(row.label, row.cells[number]) for row in table.rows]
    ran = [(label, cell, cell.ours) for label, cell in cells if cell.ours and not label.reference]
    whole = next((ours.mean for label, _, ours in ran if label.main), None)
    if whole is None:
        return Claim(QUESTION, "The ablation was not run with all parts.")
    without = [(cell, ours) for label, cell, ours in ran if not label.main]
    worse = [cell for cell, ours in without if ours.mean < whole]
    answer = (
        f"{len(worse)} of {len(without)} variants without a part have a lower AA than BISON, "
        f"{sum(cell.differs for cell in worse)} of them significantly (p < {LEVEL}, paired)."
    )
    rows = [
        in_text(escaped(label.text), f"{ours.mean:.1f}", "" if cell.p is None else f"{cell.p:.3f}")
        for label, cell, ours in ran
    ]
    return Claim(QUESTION, answer, (grid(("method", "AA", "p"), rows, numbers=2),))
