"""`memory`: what a saved learner keeps of the images it has seen."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from bison_ocl.cli.options import expanded


def memory(
    file: Annotated[Path, typer.Argument(callback=expanded, help="File of a saved learner.")],
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, with a row per image.")
    ] = False,
    sheet: Annotated[
        Path | None,
        typer.Option(callback=expanded, help="Write a contact sheet of the images (.png)."),
    ] = None,
) -> None:
    """Show the images in the memory of a saved learner.

    Prints the number of images per label; --json adds ids and ages, also of images that are held
    back or wait for their batch.
    """
    from bison_ocl.learner.labels.names import display_names
    from bison_ocl.learner.saved.memory import memory_in
    from bison_ocl.report.formats.printable import printable

    found = memory_in(file)
    if sheet is not None:
        from bison_ocl.data.sheet import write

        write(found.contact_sheet(), sheet)
    if json:
        print(json_text.dumps(found.as_json()))
        return
    more = f" and {len(found.held_back):,} held back" if found.held_back else ""
    later = f", {len(found.waiting):,} waiting" if found.waiting else ""
    print(f"{len(found):,}{more} of {found.capacity:,} images{later}, {found.bytes / 1e3:,.1f} kB")
    for label, n in zip(display_names(list(found.counts)), found.counts.values(), strict=True):
        print(f"{n:6}  {printable(label)}")
