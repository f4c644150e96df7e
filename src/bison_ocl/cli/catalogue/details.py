"""One method, dataset or stream in full: description, settings, defaults, bounds and presets."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bison_ocl.bounds import Presets, as_text, assigned
from bison_ocl.cli.catalogue.lists import parsed
from bison_ocl.errors import UserError, unknown

if TYPE_CHECKING:
    from bison_ocl.methods.declared import Declared, File


def method_details(name: str) -> Iterator[str]:
    """A method with its settings; code runs only for a method of an installed package."""
    file, found = method_file(name)
    try:
        yield from [*described(ast.Module(file.body, [])), *settings_of(found)]
    except (AttributeError, KeyError, NameError, TypeError, ValueError) as error:
        advice = f"`bison-ocl check {name}` runs it"
        what = f"{type(error).__name__}: {error}"
        raise UserError(
            f"{name}: its file alone does not tell its settings ({what}); {advice}"
        ) from error
    yield "Change a setting with --set NAME=VALUE; several values, with commas, make a sweep."


def settings_of(found: Declared) -> Iterator[str]:
    """The settings that a method reads, and its presets."""
    rows = [
        (setting.name, as_text(setting.default), setting.values, setting.meaning)
        for setting in found.fields.values()
        if setting.name not in found.ignores
    ]
    yield from table(("setting", "default", "values", "meaning"), rows)
    yield from presets(found.presets)


def method_file(name: str) -> tuple[File, Declared]:
    """The file and the class of a method of the package, or of one from outside."""
    from bison_ocl.methods import METHODS, method_class
    from bison_ocl.methods.declared import File, of_module
    from bison_ocl.methods.outside import is_reference, place_of, read

    if name in METHODS:
        module, _, class_name = METHODS[name].rpartition(".")
        file = of_module(f"bison_ocl.methods.{module}")
        return file, file[class_name]
    source = read(name if is_reference(name) else place_of(method_class(name)))
    try:
        file = File(source.text)
        return file, file[source.class_name]
    except (SyntaxError, KeyError) as error:
        raise UserError(f"{name}: the file declares no such method") from error


def presets(by_data: Presets) -> Iterator[str]:
    """Settings that differ from the defaults on some datasets; equal ones share a line."""
    alike: dict[str, list[str]] = {}
    for data, settings in by_data.items():
        changes = assigned({name.rstrip("_"): value for name, value in settings.items()})
        alike.setdefault(changes, []).append(data)
    if not alike:
        yield "presets: none; the defaults hold for every dataset"
    for changes, names in alike.items():
        yield f"preset for {', '.join(names)}: {changes}"
    yield ""


def dataset_details(name: str) -> Iterator[str]:
    """A dataset: its contents and options, the paper's memory sizes, where its files come from."""
    from bison_ocl.data import DATASETS, sources
    from bison_ocl.data.storage.official import ARCHIVES
    from bison_ocl.experiments.plan.costs import SIZES
    from bison_ocl.experiments.plan.paper import MEMORIES

    key = "folder:PATH" if name.partition(":")[0] == "folder" else name
    if key not in DATASETS:
        raise UserError(unknown("dataset", name, DATASETS))
    yield from described(parsed(sources, DATASETS[key]))
    if key in SIZES:
        size = SIZES[key]
        yield f"{size.train:,} training and {size.test:,} test images of {size.side}x{size.side}"
        yield f"tasks: {size.tasks}, of equally many classes"
        yield f"memory sizes in `reproduce`: {', '.join(map(str, MEMORIES[key]))}"
    if key == "folder:PATH":
        from bison_ocl.cli.options import HeldOut, ImageSize, Tasks

        helps: dict[str, Any] = {"--image-size": ImageSize, "--tasks": Tasks, "--held-out": HeldOut}
        rows = [(option, kind.__metadata__[0].help) for option, kind in helps.items()]
        yield from table(("option", "meaning"), rows)
    if key in ARCHIVES:
        yield f"`bison-ocl data fetch {key}` downloads {ARCHIVES[key].url}"


def stream_details(name: str) -> Iterator[str]:
    """A stream: its tasks and its parameters."""
    from bison_ocl import stream
    from bison_ocl.stream.streams import STREAMS

    if name not in STREAMS:
        raise UserError(unknown("stream", name, STREAMS))
    module = parsed(stream, STREAMS[name])
    yield from described(module)
    rows = [
        (parameter, as_text(default), "{:g} to {:g}".format(*ranges(module)[parameter]))
        for parameter, default in parameters(module, STREAMS[name])
    ]
    if rows:
        yield from table(("parameter", "default", "values"), rows)
        example = f"{name}:{rows[0][0]}={rows[0][1]}"
    else:
        example = f"{name}:PATH" if "options" in functions(module) else name
    yield f"Choose it with --stream {example}"


def functions(module: ast.Module) -> dict[str, ast.FunctionDef]:
    """The functions of a module; `options` of a stream reads what follows the colon."""
    return {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}


def parameters(module: ast.Module, function: str) -> Iterator[tuple[str, float]]:
    """The parameters of a stream that have a default."""
    found = functions(module)[function].args
    with_default = found.args[len(found.args) - len(found.defaults) :]
    for argument, default in zip(with_default, found.defaults, strict=True):
        yield argument.arg, ast.literal_eval(default)


def ranges(module: ast.Module) -> dict[str, tuple[float, float]]:
    """Smallest and largest value of each parameter."""
    for node in module.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "RANGES":
            found: dict[str, tuple[float, float]] = ast.literal_eval(node.value)
            return found
    return {}


def described(module: ast.Module) -> Iterator[str]:
    """A file's docstring, and an empty line."""
    yield ast.get_docstring(module) or "no description"
    yield ""


def table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows in columns of equal width, and an empty line."""
    columns = list(zip(names, *rows, strict=True))
    widths = [max(map(len, column)) + 2 for column in columns]
    for row in (names, *rows):
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        yield "".join(cells).rstrip()
    yield ""
