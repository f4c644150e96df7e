"""A wheel in a clean environment: `bison-ocl demo` from it, with its table and figures.

The one run of the demo serves the regression test as well; workers of pytest-xdist share it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

ROOT = Path(__file__).parent.parent
COMMIT = "0123456789abcdef0123456789abcdef01234567"
"""that the wheel is said to be built from"""
SHIPPED = (
    *("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"),
    *("constraints.txt", "tools/build_backend.py"),
)
"""files of a source archive, besides the package"""
METHODS = ["finetune", "er", "bison"]
EXTRAS = ("analysis", "cluster", "export", "gpu", "river", "serve", "sklearn", "tracking")
MODULES = {"pillow": "PIL", "mlflow-skinny": "mlflow", "scikit-learn": "sklearn"}
TITLES = {"finetune": "FINE-TUNE", "er": "ER", "bison": "BISON"}


def run(*words: str | Path, folder: Path, **variables: str) -> str:
    """A command in a folder, without this checkout on its path. variables: of its environment"""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "COLUMNS")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def demonstrated(factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, the environment and what the demo wrote; made once a session."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "wheel"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "said").exists():
            for name in ("source", "clean", "borrowed", "elsewhere"):  # of an attempt that failed
                shutil.rmtree(folder / name, ignore_errors=True)
            build(folder)
            install(folder)
            (folder / "elsewhere").mkdir()
            command = folder / "clean" / "bin" / "bison-ocl"
            said = run(command, "demo", "--out", "results", folder=folder / "elsewhere")
            (folder / "said").write_text(said)
    return folder


def build(folder: Path) -> None:
    """The archives of `make release`, the wheel made from the source; from a copy of the tree."""
    source = folder / "source"
    leftovers = shutil.ignore_patterns("*.egg-info", "__pycache__")
    shutil.copytree(ROOT / "src", source / "src", ignore=leftovers)
    (source / "tools").mkdir()
    for name in SHIPPED:
        shutil.copy(ROOT / name, source / name)
    (folder / "files").write_text(
        "\n".join(
            str(path.relative_to(source / "src"))
            for path in (source / "src").rglob("*")
            if path.is_file()
        )
    )
    words = ["-m", "build", "--no-isolation", "--outdir", ".."]
    run(sys.executable, *words, folder=source, BISON_OCL_COMMIT=COMMIT)
    assert not (source / "src" / "bison_ocl" / "commit.txt").exists()


def install(folder: Path) -> None:
    """An environment that sees the packages of this one, but not this package or its source."""
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "clean", with_pip=False)
    python = folder / "clean" / "bin" / "python"
    place = Path(
        run(
            python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=folder
        ).strip()
    )
    borrowed = folder / "borrowed"
    borrowed.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "bison_ocl" not in path.name and path.suffix != ".pth":
            (borrowed / path.name).symlink_to(path)
    (place / "borrowed.pth").write_text(f"{borrowed}\n")
    pip = ["-m", "pip", "install", "-q", "--no-deps", "--no-index", "--disable-pip-version-check"]
    run(python, *pip, wheel, folder=folder)


def records(folder: Path) -> dict[str, dict[str, Any]]:
    lines = (folder / "elsewhere" / "results" / "results.jsonl").read_text().splitlines()
    return {record["method"]: record for record in map(json.loads, lines)}


@pytest.mark.slow
def test_the_demo_runs_from_a_wheel(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = demonstrated(tmp_path_factory)
    check_contents(folder)
    check_archive(folder)
    check_metadata(folder)
    check_dependencies(folder)
    check_table(folder)
    for name in ("results-curves.png", "results-interplay.png"):
        check_figure(folder / "elsewhere" / "results" / "figures" / name)
    assert (folder / "elsewhere" / "results" / "RESULTS.md").is_file()
    assert records(folder)["bison"]["commit"] == COMMIT
    command = folder / "clean" / "bin" / "bison-ocl"
    assert run(command, "--version", folder=folder).strip().endswith(f", commit {COMMIT}")


def check_contents(folder: Path) -> None:
    """Every file of the source, data and licences included, and no tests."""
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert set((folder / "files").read_text().splitlines()) <= set(names)
    assert "bison_ocl/py.typed" in names
    assert "bison_ocl/data/sources/digits.npz" in names
    assert any(name.endswith("digits.LICENSE.txt") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith("tests") for name in names)


def check_archive(folder: Path) -> None:
    """The source archive has the package and what README tells one to use, and nothing else."""
    (path,) = folder.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {one.name.partition("/")[2] for one in archive.getmembers() if one.isfile()}
    package = {name for name in names if name.startswith("src/bison_ocl/")}
    written = {f"src/{name}" for name in (folder / "files").read_text().splitlines()}
    assert package == {*written, "src/bison_ocl/commit.txt"}
    rest = {name for name in names - package if ".egg-info/" not in name}
    assert rest == {*SHIPPED, "PKG-INFO", "setup.cfg"}


def check_metadata(folder: Path) -> None:
    """As an index asks for it, with a README that renders; `make release` checks the same."""
    (wheel,), (archive,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, archive, folder=folder)


def check_dependencies(folder: Path) -> None:
    """What the wheel declares can be imported, and is all that its code imports."""
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        metadata = HeaderParser().parsestr(archive.read(name).decode())
    declared = metadata.get_all("Requires-Dist", [])
    needed = [text for text in declared if "extra ==" not in text]
    extras = [text for text in declared if text.endswith(tuple(f'"{name}"' for name in EXTRAS))]
    names = [text.split(">")[0].split("=")[0].split("<")[0].strip() for text in needed]
    assert "torch" in names
    assert all("==" not in text for text in needed)  # loose bounds; exact pins are elsewhere
    python = folder / "clean" / "bin" / "python"
    modules = [MODULES.get(name, name) for name in names]
    code = f"import {', '.join(modules)}, bison_ocl, sys; print(bison_ocl.__file__)"
    assert run(python, "-c", code, folder=folder).startswith(str(folder / "clean"))
    packages = [text.partition(";")[0].strip() for text in extras]
    optional = {MODULES.get(name, name) for name in packages}
    stubs = {"_typeshed"}  # for type checkers; it does not exist when code runs
    assert imported(folder) <= {*modules, *optional, *stubs, "bison_ocl"}


def imported(folder: Path) -> set[str]:
    """Top-level names of every import of the installed package, the standard library's aside."""
    code = (
        "import ast, pathlib, sys, bison_ocl\n"
        "for path in pathlib.Path(bison_ocl.__file__).parent.rglob('*.py'):\n"
        "    for node in ast.walk(ast.parse(path.read_text('utf-8'))):\n"
        "        names = [a.name for a in node.names] if isinstance(node, ast.Import) else \\\n"
        "            [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []\n"
        "        for name in names:\n"
        "            if name.split('.')[0] not in sys.stdlib_module_names:\n"
        "                print(name.split('.')[0])\n"
    )
    return set(run(folder / "clean" / "bin" / "python", "-c", code, folder=folder).split())


def check_table(folder: Path) -> None:
    """A line a method with the records' numbers; BISON above ER above FINE-TUNE."""
    said = [" ".join(line.split()) for line in (folder / "said").read_text().splitlines()]
    start = said.index("method AA ↑ AF_table ↓ AF (text) ↓ AI ↓") + 1
    lines, report = said[start : start + len(METHODS)], said[-1]
    found = records(folder)
    reference = [found["finetune"]["accuracy"][i][i] for i in range(5)]
    for line, method in zip(lines, METHODS, strict=True):
        metrics, matrix = found[method]["metrics"], found[method]["accuracy"]
        lost = [best - matrix[i][i] for i, best in enumerate(reference)]
        numbers = [metrics["AA"], metrics["AF_table"], metrics["AF"], sum(lost) / 5]
        shown = " (1) ".join(f"{100 * number:z.1f}" for number in numbers)
        spread = f"{100 * statistics.stdev(lost):.1f}"
        expected = f"{TITLES[method]} {shown} / {spread} (1)"
        assert re.sub("[¹²]", "", line) == expected
    assert report == "report: results/report.html"
    assert (folder / "elsewhere" / "results" / "report.html").is_file()
    accuracies = [found[method]["metrics"]["AA"] for method in METHODS]
    assert accuracies == sorted(accuracies)
    assert len(set(accuracies)) == 3


def check_figure(path: Path) -> None:
    """Not blank."""
    with Image.open(path) as image:
        found = image.convert("RGB").getcolors(maxcolors=1 << 24)
    assert found
    assert len(found) > 100
