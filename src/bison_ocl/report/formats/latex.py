r"""A table as LaTeX, in the paper's layout; needs the packages booktabs, graphicx and xcolor.

Below ours stands the paper's number in small grey print, with the difference in colour. A table of
many columns has several parts, one below the other; what is too wide for the page is made smaller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby

from bison_ocl.report.formats import wording
from bison_ocl.report.tables.cells import Cell, Column, Line, Table

Shown = Callable[[Cell, Column, Table], str]

COLOURS = {
    "close": "green!50!black",
    "near": "orange!85!black",
    "far": "red!80!black",
    None: "gray",
}
BROADEST = 10
"""columns that stand side by side"""
SHRUNK = r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%"
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
    usual = wording.usual_runs(table)
    lines = [
        r"% needs \usepackage{booktabs}, \usepackage{graphicx} and \usepackage{xcolor}",
        r"\begin{table*}",
        r"\centering\small",
        rf"\caption{{{caption(table)}}}",
        rf"\label{{tab:{re.sub(r'[^A-Za-z0-9.]+', '-', table.name)}}}",
        *chain.from_iterable(tabular(part, usual) for part in parts(table)),
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def parts(table: Table) -> list[Table]:
    """Groups of columns side by side, as many as there is room for; the others below them."""
    found: list[list[int]] = [[]]
    for numbers in table.groups().values():
        if found[-1] and len(found[-1]) + len(numbers) > BROADEST:
            found.append([])
        found[-1] += numbers
    return [table.only(numbers) for numbers in found]


def tabular(table: Table, usual: int) -> Iterator[str]:
    """The table itself, no wider than the page. usual: runs of a cell that need not be said"""
    yield SHRUNK
    yield rf"\begin{{tabular}}{{l{'c' * len(table.columns)}}}"
    yield r"\toprule"
    yield from head(table)
    yield r"\midrule"
    yield from body(table, usual)
    yield r"\bottomrule"
    yield r"\end{tabular}}\par\medskip"


def caption(table: Table) -> str:
    """The title, and what marks and numbers mean, as sentences."""
    ranks, sizes = "bold: best, underlined: runner-up", ("green", "orange", "red")
    said = [table.title, *wording.legend(table, ranks, sizes, told_once=True)]
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


def body(table: Table, usual: int) -> Iterator[str]:
    """Two rows a line: ours, and the paper's if it has any."""
    for line in table.lines:
        kind = f" ({line.label.category})" if line.label.category else ""
        ours = spread_out(table, line, partial(own, usual=usual))
        yield row([escaped(line.label.text + kind), *ours])
        if any(cell.paper for cell in line.cells):
            yield row([r"\quad{\scriptsize paper}", *spread_out(table, line, printed)])


def spread_out(table: Table, line: Line, shown: Shown) -> Iterator[str]:
    """The cells of a line; what FINE-TUNE has is shown once for all memories of a group."""
    texts = [
        (column.group, column.measure.name, shown(cell, column, table))
        for cell, column in zip(line.cells, table.columns, strict=True)
    ]
    if not line.label.reference:
        yield from (text for *_, text in texts)
        return
    for (*_, text), same in groupby(texts):
        width = len(list(same))
        yield text if width == 1 else rf"\multicolumn{{{width}}}{{c}}{{{text}}}"


def own(cell: Cell, column: Column, table: Table, usual: int) -> str:
    """`\\textbf{26.3}$_{\\pm1.0}$`, with the number of runs where it is not the usual one."""
    if cell.ours is None:
        return "--"
    mean, _, std = wording.ours(cell, column, "\0").partition("\0")
    star = "^{*}" * cell.differs
    runs = rf" {{\tiny {wording.count(cell, table)}}}" if cell.ours.n != usual else ""
    return AROUND[cell.rank].format(number(mean)) + deviation(std, star) + runs


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
