"""How a download shows itself: a bar in a terminal, a line every tenth elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from bison_ocl.data.storage.fetch import Watch


@contextmanager
def downloading(title: str) -> Iterator[Watch]:
    """A function to be told how far a download is."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lines(title, console)
        return
    columns = (TextColumn(title), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(title, total=None)
        yield lambda here, whole: progress.update(task, completed=here, total=whole or None)


def lines(title: str, console: Console) -> Watch:
    """A line every tenth of the whole."""
    told = -1

    def watch(here: int, whole: int) -> None:
        nonlocal told
        tenth = 10 * here // whole if whole else here >> 25
        if tenth != told:
            told = tenth
            of = f" of {whole / 1e6:.0f}" if whole else ""
            console.print(f"{title}: {here / 1e6:.0f}{of} MB", markup=False, soft_wrap=True)

    return watch
