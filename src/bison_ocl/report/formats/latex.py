r"""A table as LaTeX: a block for each group of columns; needs booktabs, graphicx and xcolor.

Beside ours stands the paper's number in grey, then the difference in colour. What is too wide for
the page is made smaller.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bison_ocl.report.formats.wording import Shown, head, legend, shown, usual_runs
from bison_ocl.report.tables.cells import Table

COLOURS = {"close": "green!50!black", "near": "orange!85!black", "far": "red!80!black"}
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
    lines = [
        r"% needs \usepackage{booktabs}, \usepackage{graphicx} and \usepackage{xcolor}",
        r"\begin{table*}",
        r"\centering\small",
        rf"\caption{{{caption(table)}}}",
        rf"\label{{tab:{re.sub(r'[^A-Za-z0-9.]+', '-', table.name)}}}",
        *(line for group in table.groups().items() for line in block(table, *group)),
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def caption(table: Table) -> str:
    """The title, and what marks and numbers mean, as sentences."""
    ranks, sizes = "bold: best, underlined: runner-up", ("green", "orange", "red")
    said = [table.title, *legend(table, ranks, sizes, told_once=True)]
    return escaped(" ".join(f"{text[:1].upper()}{text[1:]}." for text in said))


def block(table: Table, group: str, numbers: Sequence[int]) -> Iterator[str]:
    """The columns of one group, no wider than the page."""
    names, words = head(table, numbers), 1 + table.kinds
    width, usual = len(names) - words, f"({usual_runs(table)})"
    yield SHRUNK
    yield rf"\begin{{tabular}}{{{'l' * words}{'r' * width}}}"
    yield r"\toprule"
    yield row([*[""] * words, rf"\multicolumn{{{width}}}{{c}}{{{escaped(group)}}}"])
    yield row(map(escaped, names))
    yield r"\midrule"
    for line in table.lines:
        said = [line.label.text, line.label.category][:words]
        yield row([*map(escaped, said), *(cell(one, usual) for one in shown(table, line, numbers))])
    yield r"\bottomrule"
    yield r"\end{tabular}}\par\medskip"


def cell(one: Shown, usual: str) -> str:
    """A number; the runs it is of, where they are not the usual number."""
    text = AROUND[one.rank].format(number(one.text)) + "$^{*}$" * one.differs
    if one.size:
        return rf"\textcolor{{{COLOURS[one.size]}}}{{{text}}}"
    return text + (rf" {{\tiny {one.count}}}" if one.count not in ("", usual) else "")


def number(text: str) -> str:
    """With a minus sign, not a hyphen."""
    return escaped(re.sub(r"^-(?=\d)", "−", text))


def row(texts: Iterator[str] | Sequence[str]) -> str:
    return " & ".join(texts) + r" \\"


def escaped(text: str) -> str:
    """Text that LaTeX sets as it is."""
    return "".join(SIGNS.get(sign, sign) for sign in text)
