"""`data`: fetch and check datasets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bison_ocl.cli.options import DataDir, HeldOut, ImageSize, Tasks, data_options, folder_option

if TYPE_CHECKING:
    from bison_ocl.data.storage.fetch import Watch

app = typer.Typer(help="Fetch and check datasets.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Dataset; see `bison-ocl datasets`.")]


@app.command()
def fetch(name: Name, data_dir: DataDir = None) -> None:
    """Download the official archive of a dataset.

    Where there is none, explain which files to provide.
    """
    from bison_ocl.data import source_of
    from bison_ocl.data.storage.official import ARCHIVES

    if name not in ARCHIVES:
        source_of(name, data_dir)
        print(f"{name} is available; it has no official archive to download")
        return
    from bison_ocl.data.storage.fetch import fetch
    from bison_ocl.data.storage.places import data_folder

    folder = data_folder(data_dir)  # refused before a bar is shown
    with downloading(ARCHIVES[name].file) as watch:
        path = fetch(ARCHIVES[name], folder, watch)
    print(f"{path} is complete; `bison-ocl data check {name}` shows its contents")


@contextmanager
def downloading(title: str) -> Iterator[Watch]:
    """Show a progress bar and yield the function that moves it; off a terminal, show its end."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(title), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=None)
        yield lambda here, whole: progress.update(task, completed=here, total=whole or None)


@app.command()
def check(
    name: Name,
    data_dir: DataDir = None,
    out: Annotated[Path, folder_option(help="Folder for the contact sheet.")] = Path(),
    image_size: ImageSize = None,
    tasks: Tasks = None,
    held_out: HeldOut = None,
) -> None:
    """Check the files of a dataset.

    Prints counts, checksums and duplicates; draws a contact sheet.
    """
    from bison_ocl.data import source_of
    from bison_ocl.data.check import check, describe
    from bison_ocl.data.sheet import save
    from bison_ocl.data.storage.cache import state_of_cache
    from bison_ocl.data.storage.places import cache_folder

    source = source_of(name, data_dir, **data_options(image_size, tasks, held_out))
    findings = check(source)
    print("\n".join(describe(findings)))
    print(f"contact sheet: {save(findings, out)}")
    print(f"cache: {state_of_cache(source, cache_folder(data_dir))}")
