"""`methods`, `datasets` and `streams`: list what is available, or describe one in full."""

from __future__ import annotations

from typing import Annotated

import typer


def methods(
    name: Annotated[
        str | None,
        typer.Argument(help="Method to describe in full, or path/to/mine.py:Mine (default: all)."),
    ] = None,
) -> None:
    """List the methods with their papers, or the settings of one."""
    from bison_ocl import methods as package
    from bison_ocl.cli.catalogue.details import method_details
    from bison_ocl.cli.catalogue.lists import method_listing

    if name is not None:
        print("\n".join(method_details(name)))
        return
    modules = {name: path.rpartition(".")[0] for name, path in package.METHODS.items()}
    print(method_listing(package, modules))
    for name, point in package.outside.installed().items():
        print(f"{name:<22}{point.value}, installed")


def datasets(
    name: Annotated[
        str | None, typer.Argument(help="Dataset to describe in full (default: all).")
    ] = None,
) -> None:
    """List the datasets, or describe one."""
    from bison_ocl.cli.catalogue.details import dataset_details
    from bison_ocl.cli.catalogue.lists import listing
    from bison_ocl.data import DATASETS, sources

    print(listing(sources, DATASETS) if name is None else "\n".join(dataset_details(name)))


def streams(
    name: Annotated[
        str | None, typer.Argument(help="Stream to describe in full (default: all).")
    ] = None,
) -> None:
    """List the streams, or the parameters of one.

    A stream is the tasks and the order in which images arrive.
    """
    from bison_ocl import stream
    from bison_ocl.cli.catalogue.details import stream_details
    from bison_ocl.cli.catalogue.lists import listing
    from bison_ocl.stream.streams import STREAMS

    print(listing(stream, STREAMS) if name is None else "\n".join(stream_details(name)))
