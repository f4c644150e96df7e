r"""A table as LaTeX, in the paper's layout; needs the packages booktabs and xcolor.

Below ours stands the paper's number in small grey print, with the difference in colour.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from bison_ocl.report import wording
from bison_ocl.report.cells import Cell, Column, Line, Table

Shown = Callable[[Cell, Column, Table], str]

COLOURS = {
    "close": "green!50!black",
    "near": "orange!85!black",
    "far": "red!80!black",
    None: "gray",
}
AROUND = ("{}", r"\textbf{{{}}}", r"\underline{{{}}}")
"""none, best, runner-up"""
SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "–": "--",
    "“": "``",
    "”": "''",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "η": r"$\eta$",
    "λ": r"$\lambda$",
    "Δ": r"$\Delta$",
}


def latex(table: Table) -> str:
    """A table environment."""
    lines = [
        "% needs \\usepackage{booktabs} and \\usepackage{xcolor}",
        r"\begin{table*}",
        r"\centering",
        rf"\caption{{{caption(table)}}}",
        rf"\label{{tab:{re.sub(r'[^A-Za-z0-9.]+', '-', table.name)}}}",
        rf"\begin{{tabular}}{{l{'c' * len(table.columns)}}}",
        r"\toprule",
        *head(table),
        r"\midrule",
        *body(table),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def caption(table: Table) -> str:
    """The title, and what marks and numbers mean, as sentences."""
    ranks, sizes = "bold: best, underlined: runner-up", ("green", "orange", "red")
    said = [table.title, *wording.legend(table, ranks, sizes)]
    return escaped(" ".join(f"{text[:1].upper()}{text[1:]}." for text in said))


def head(table: Table) -> Iterator[str]:
    """Groups, a rule below each, and columns."""
    groups, rules, first = [], [], 2
    for group, numbers in table.groups().items():
        last = first + len(numbers) - 1
        groups.append(rf"\multicolumn{{{len(numbers)}}}{{c}}{{{escaped(group)}}}")
        rules.append(rf"\cmidrule(lr){{{first}-{last}}}")
        first = last + 1
    yield row(["", *groups])
    yield " ".join(rules)
    yield row([escaped(table.heading), *(escaped(wording.headed(one)) for one in table.columns)])


def body(table: Table) -> Iterator[str]:
    """Two rows a line: ours, and the paper's if it has any."""
    for line in table.lines:
        kind = f" ({line.label.category})" if line.label.category else ""
        yield row([escaped(line.label.text + kind), *spread_out(table, line, own)])
        if any(cell.paper for cell in line.cells):
            yield row([r"\quad{\scriptsize paper}", *spread_out(table, line, printed)])


def spread_out(table: Table, line: Line, shown: Shown) -> Iterator[str]:
    """The cells of a line; what FINE-TUNE has is shown once for all memories of a group."""
    texts = [
        (column.group, shown(cell, column, table))
        for cell, column in zip(line.cells, table.columns, strict=True)
    ]
    if not line.label.reference:
        yield from (text for _, text in texts)
        return
    for (_, text), same in groupby(texts):
        width = len(list(same))
        yield text if width == 1 else rf"\multicolumn{{{width}}}{{c}}{{{text}}}"


def own(cell: Cell, column: Column, table: Table) -> str:
    """`\\textbf{26.3}$_{\\pm1.0}$`, with the number of runs where some are missing."""
    if cell.ours is None:
        return "--"
    mean, _, std = wording.ours(cell, column, "\0").partition("\0")
    star = "^{*}" * cell.differs
    short = wording.count(cell, table) if table.planned and cell.ours.n != table.planned else ""
    few = rf" {{\tiny {short}}}" if short else ""
    return AROUND[cell.rank].format(number(mean)) + deviation(std, star) + few


def printed(cell: Cell, column: Column, table: Table) -> str:
    """The paper's number and the difference."""
    if cell.paper is None:
        return ""
    mean, _, std = wording.paper(cell, column, "\0").partition("\0")
    colour = COLOURS[cell.distance(column.measure.unit)]
    away = wording.difference(cell, column)
    shown = rf" \textcolor{{{colour}}}{{{number(away)}}}" if away else ""
    return rf"{{\scriptsize\textcolor{{gray}}{{{number(mean)}{deviation(std)}}}{shown}}}"


def number(text: str) -> str:
    """With a minus sign, not a hyphen."""
    return text if text[:1] not in "+-" else f"${text[0]}${text[1:]}"


def deviation(text: str, star: str = "") -> str:
    low = rf"_{{\pm{text}}}" if text else ""
    return f"${low}{star}$" if low or star else ""


def row(texts: Sequence[str]) -> str:
    return " & ".join(texts) + r" \\"


def escaped(text: str) -> str:
    """Text that LaTeX sets as it is."""
    return "".join(SIGNS.get(sign, sign) for sign in text)
