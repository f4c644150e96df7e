"""Print a table: as wide as the terminal, or in full width to files and pipes."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

WIDE = 160
"""characters, in files and pipes"""


def show_table(table: Table) -> None:
    """Print a table in full."""
    console = Console(highlight=False, markup=False, emoji=False)  # paths may hold [ and :
    if not console.is_terminal:
        console.width = max(console.width, WIDE)
    console.print(table)
