r"""A table as LaTeX, block by block; needs booktabs, graphicx and xcolor.

A block that is too wide for the page is made smaller.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bison_ocl.report.formats.wording import Block, Shown, blocks, legend, usual_runs
from bison_ocl.report.tables.table import Table

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
        *(line for block in blocks(table) for line in tabular(block, usual_runs(table))),
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def caption(table: Table) -> str:
    """The title, and the meaning of marks and numbers, as sentences."""
    ranks, sizes = "bold: best, underlined: runner-up", ("green", "orange", "red")
    texts = [table.title, *legend(table, ranks, sizes, count_once=True)]
    return escaped(" ".join(f"{text[:1].upper()}{text[1:]}." for text in texts))


def tabular(block: Block, usual: int) -> Iterator[str]:
    """One block, no wider than the page."""
    width = len(block.head) - block.words
    yield SHRUNK
    yield rf"\begin{{tabular}}{{{'l' * block.words}{'r' * width}}}"
    yield r"\toprule"
    title = rf"\multicolumn{{{width}}}{{c}}{{{escaped(block.title)}}}"
    yield row([*[""] * block.words, title])
    yield row(map(escaped, block.head))
    yield r"\midrule"
    for _, cells in block.rows:
        yield row(cell(one, f"({usual})") for one in cells)
    yield r"\bottomrule"
    yield r"\end{tabular}}\par\medskip"


def cell(one: Shown, usual: str) -> str:
    """A number, with its number of runs where that is not the usual one."""
    signed = re.sub(r"^-(?=\d)", "−", one.text)
    text = AROUND[one.rank].format(escaped(signed)) + "$^{*}$" * one.differs
    if one.size:
        return rf"\textcolor{{{COLOURS[one.size]}}}{{{text}}}"
    return text + (rf" {{\tiny {one.count}}}" if one.count not in ("", usual) else "")


def row(texts: Iterable[str]) -> str:
    return " & ".join(texts) + r" \\"


def escaped(text: str) -> str:
    """Text that LaTeX sets as it is."""
    return "".join(SIGNS.get(sign, sign) for sign in text)
