"""A claim: a question, its answer in a sentence, and what the answer rests on."""

from __future__ import annotations

from dataclasses import dataclass

from bison_ocl.report.study.names import place_name
from bison_ocl.report.tables.table import Column


@dataclass(frozen=True)
class Claim:
    """One of the summary's questions."""

    question: str
    answer: str
    """as Markdown, as are the details"""
    details: tuple[str, ...] = ()
    """paragraphs and tables; none where the answer says all"""

    def __str__(self) -> str:
        return f"**{self.question}** {self.answer}"


def cell_name(column: Column) -> str:
    """`C10 0.2k`"""
    return place_name(column.place.data, column.place.memory)


def in_text(*cells: object) -> list[str]:
    """A row of a table of Markdown."""
    return [str(cell) for cell in cells]
