"""`rerun`: repeat a record's run and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bison_ocl.cli.options import DataDir, Device, chosen_device, folder_option


def rerun(
    place: Annotated[
        str, typer.Argument(help="Record to repeat: FILE:LINE, such as results.jsonl:3.")
    ],
    method: Annotated[
        str | None,
        typer.Option(
            help="File of the record's method, path/to/mine.py:Mine, if it is outside the package."
        ),
    ] = None,
    device: Device = "auto",
    out: Annotated[Path, folder_option(help="Folder for the new record.")] = Path("rerun"),
    data_dir: DataDir = None,
) -> None:
    """Repeat a recorded run and compare the result bit by bit."""
    from bison_ocl.experiments.carry.rerun import check_known, chosen, compared, rerun
    from bison_ocl.experiments.terminal.bar import watching
    from bison_ocl.experiments.terminal.show import say
    from bison_ocl.methods import registered_name
    from bison_ocl.report.formats.text import show
    from bison_ocl.report.study.entry import prepared
    from bison_ocl.report.tables.layouts import overview

    record = chosen(place)
    check_known(record, place, registered_name(method) if method else None)
    again = rerun(record, out, chosen_device(device), data_dir, watching, say)
    show(overview(out.resolve().name, prepared([again])))
    print(f"{place}: {compared(record, again)}")
