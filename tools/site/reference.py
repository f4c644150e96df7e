"""The API reference: one page per main class, method and room of the package."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from bison_ocl.methods import METHODS, method_class

ROOT = Path(__file__).parents[2]
PACKAGE = PurePosixPath("src/bison_ocl")

MAIN = {
    "learner/learner.py": ("Learner",),
    "methods/method.py": ("Method", "Update"),
    "state.py": ("State",),
    "nets/net.py": ("Net", "Design", "Backbone"),
    "memory/memory.py": ("Memory", "Write"),
}
"""the classes one meets first, on pages named after the first of each file"""
ROOMS = {
    "learner": "Learner",
    "methods": "Methods",
    "losses": "Losses",
    "inference": "Inference rules",
    "memory": "Memory",
    "nets": "Networks",
    "views": "Augmentation",
    "stream": "Streams",
    "evaluate": "Evaluation",
    "engine": "Engine",
}
FILES = ("batch", "rng", "tree", "bounds", "card", "look", "errors")
"""outside the rooms, together on one page"""


def modules() -> list[PurePosixPath]:
    """The files that the reference covers, below the package."""
    folder = ROOT / PACKAGE
    found = [path for room in ROOMS for path in sorted((folder / room).rglob("*.py"))]
    found += [folder / "state.py", *(folder / f"{name}.py" for name in FILES)]
    shown = (path for path in found if path.name != "__init__.py" and "kernels" not in path.parts)
    return [PurePosixPath(path.relative_to(folder).as_posix()) for path in shown]


def page_of(path: str) -> str | None:
    """The page of a file or folder of the package; None for others."""
    if not path.startswith(f"{PACKAGE}/"):
        return None
    file = PurePosixPath(path).relative_to(PACKAGE)
    if str(file) in MAIN:
        return f"api/{MAIN[str(file)][0]}.md"
    room, *inside = file.parts
    if room == "methods":
        return f"api/methods/{inside[0].removesuffix('.py')}.md" if inside else None
    if room in ROOMS:
        return f"api/{room}.md"
    return "api/shared.md" if file.stem in FILES else None


def method_page(name: str) -> str:
    """The file or package of a method."""
    return METHODS[name].partition(".")[0]


def titles() -> dict[str, str]:
    """The title of every page, in the order of the contents."""
    found = {f"api/{name}.md": name for name, *_ in MAIN.values()}
    found |= {f"api/methods/{method_page(name)}.md": method_class(name).title for name in METHODS}
    for file in modules():
        place = page_of(str(PACKAGE / file))
        assert place is not None
        room = ROOMS.get(file.parts[0], "Shared values")
        found.setdefault(place, PurePosixPath(place).stem if "methods/" in place else room)
    return found


def pages() -> dict[str, str]:
    """The Markdown of every page."""
    found: dict[str, list[PurePosixPath]] = {place: [] for place in titles()}
    for file in modules():
        place = page_of(str(PACKAGE / file))
        assert place is not None
        found[place].append(file)
    return {place: page(title, found[place]) for place, title in titles().items()}


def page(title: str, files: list[PurePosixPath]) -> str:
    """The modules of one page; one alone needs no heading of its own."""
    headings = [f"## {file.stem}\n\n" if len(files) > 1 else "" for file in files]
    parts = (heading + part(file) for heading, file in zip(headings, files, strict=True))
    return "\n".join([f"# {title}\n", *parts])


def part(file: PurePosixPath) -> str:
    """One module, or its main classes."""
    module = f"bison_ocl.{'.'.join(file.with_suffix('').parts)}"
    members = ", ".join(MAIN.get(str(file), ()))
    options = (f"members: {members}".strip(), "undoc-members:", "show-inheritance:")
    lines = "".join(f"   :{option}\n" for option in options)
    return f"```{{eval-rst}}\n.. automodule:: {module}\n{lines}```\n"
