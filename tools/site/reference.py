"""The API reference: one page per main class, method and room of the package."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
PACKAGE = PurePosixPath("src/bison_ocl")

MAIN = {
    "learner/learner.py": "Learner",
    "methods/method.py": "Method",
    "state.py": "State",
    "nets/net.py": "Net",
    "memory/memory.py": "Memory",
}
"""the classes one meets first, each with a page of its own"""
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
        return f"api/{MAIN[str(file)]}.md"
    room, *inside = file.parts
    if room == "methods":
        return f"api/methods/{inside[0].removesuffix('.py')}.md" if inside else "METHODS.md"
    if room in ROOMS:
        return f"api/{room}.md"
    return "api/shared.md" if file.stem in FILES else None


def titles() -> dict[str, str]:
    """The title of every page, in the order of the contents."""
    found = {f"api/{name}.md": name for name in MAIN.values()}
    for file in modules():
        place = page_of(str(PACKAGE / file))
        assert place is not None
        room = ROOMS.get(file.parts[0], "Shared values")
        found.setdefault(place, PurePosixPath(place).stem if "methods/" in place else room)
    return found


def pages() -> dict[str, str]:
    """The Markdown of every page."""
    parts: dict[str, list[str]] = {place: [f"# {title}\n"] for place, title in titles().items()}
    for file in modules():
        place = page_of(str(PACKAGE / file))
        assert place is not None
        parts[place].append(part(file, alone=str(file) in MAIN))
    return {place: "\n".join(texts) for place, texts in parts.items()}


def part(file: PurePosixPath, alone: bool) -> str:
    """One module; alone on a page it needs no heading."""
    module = f"bison_ocl.{'.'.join(file.with_suffix('').parts)}"
    heading = "" if alone else f"## {file.stem}\n\n"
    options = "".join(f"   :{name}:\n" for name in ("members", "undoc-members", "show-inheritance"))
    return f"{heading}```{{eval-rst}}\n.. automodule:: {module}\n{options}```\n"
