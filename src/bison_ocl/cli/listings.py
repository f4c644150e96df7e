"""`methods`, `datasets` and `streams`: list what is available."""

from __future__ import annotations


def methods() -> None:
    """List the methods with their papers."""
    from bison_ocl import methods as package
    from bison_ocl.cli.catalogue import method_listing

    modules = {name: path.rpartition(".")[0] for name, path in package.METHODS.items()}
    print(method_listing(package, modules))
    for name, point in package.outside.installed().items():
        print(f"{name:<22}{point.value}, installed")


def datasets() -> None:
    """List the datasets."""
    from bison_ocl.cli.catalogue import listing
    from bison_ocl.data import DATASETS, sources

    print(listing(sources, DATASETS))


def streams() -> None:
    """List the streams: tasks and order in which the images of a dataset arrive."""
    from bison_ocl import stream
    from bison_ocl.cli.catalogue import listing
    from bison_ocl.stream.streams import STREAMS

    print(listing(stream, STREAMS))
