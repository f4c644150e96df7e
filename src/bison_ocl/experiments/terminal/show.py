"""Output of commands: notices, and tables as wide as the terminal or, in pipes, in full."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

console = Console(stderr=True, highlight=False, emoji=False)  # paths may hold :smile:

WIDE = 160
"""characters, in files and pipes"""


def say(text: str) -> None:
    """Print a notice on standard error; results go to standard output."""
    console.print(text, markup=False, soft_wrap=True)


def show_table(table: Table) -> None:
    """Print a table in full."""
    console = Console(highlight=False, markup=False, emoji=False)  # paths may hold [ and :
    if not console.is_terminal:
        console.width = max(console.width, WIDE)
    console.print(table)
