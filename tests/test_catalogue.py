"""Lists of what there is, read from files without importing them."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import EntryPoint
from inspect import getdoc
from pathlib import Path
from types import ModuleType

import pytest

from bison_ocl import methods
from bison_ocl.cli.catalogue.details import dataset_details, method_details, stream_details
from bison_ocl.cli.catalogue.lists import class_facts, listing, method_listing
from bison_ocl.data import DATASETS, load
from bison_ocl.data.storage.official import ARCHIVES
from bison_ocl.errors import UserError
from bison_ocl.experiments.plan.costs import SIZES
from bison_ocl.experiments.plan.plan import settings_read_by
from bison_ocl.methods import METHODS, method_class, outside
from bison_ocl.stream.streams import STREAMS, parse


def package(folder: Path, **files: str) -> ModuleType:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    module = ModuleType("package")
    module.__file__ = str(folder / "__init__.py")
    return module


def test_name_what_and_where_from(tmp_path: Path) -> None:
    cited = 'Somebody et al. 2020, "A title\nof two lines", §3. More.'
    one = f'"""Does α.\n\n{cited}\n"""\nraise SystemExit("imported")\n'
    found = listing(
        package(tmp_path, one=one, two='"""Does two."""\n'), {"first-one": "one", "second": "two"}
    )
    assert found.splitlines() == [
        "first-one  Does α.",
        '           Somebody et al. 2020, "A title of two lines", §3.',
        "second     Does two.",
    ]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_listed_with_its_own_words(name: str) -> None:
    text = listing(methods, {name: METHODS[name].rpartition(".")[0]})
    docstring = getdoc(import_module(method_class(name).__module__))
    assert docstring
    what, source = text.splitlines()
    assert what == f"{name}  {docstring.splitlines()[0]}"
    assert source.strip().endswith(".")
    assert " ".join(docstring.split()).startswith(f"{docstring.splitlines()[0]} {source.strip()}")


@pytest.mark.parametrize("name", METHODS)
def test_what_is_told_of_a_method_without_importing_it_is_true(name: str) -> None:
    module = METHODS[name].rpartition(".")[0]
    facts, found = class_facts(methods, module), method_class(name)
    assert facts.get("kind", "") == found.kind
    assert facts.get("boundaries", False) == found.boundaries
    assert f"{name:<10}" in method_listing(methods, {name: module})


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_described_with_every_setting_it_reads(name: str) -> None:
    lines = list(method_details(name))
    start = lines.index(next(line for line in lines if line.startswith("setting ")))
    shown = [line.split()[0] for line in lines[start + 1 : lines.index("", start)]]
    assert shown == settings_read_by(name)
    for data, settings in method_class(name).presets.items():
        named = [line for line in lines if line.startswith("preset for")]
        (line,) = [line for line in named if data in re.findall(r"[\w-]+", line)]
        assert all(f"{key.rstrip('_')}=" in line for key in settings)


def test_a_method_in_a_file_is_described_and_not_executed(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    head = '"""Mine.\n\nMe 2026.\n"""\nfrom bison_ocl.methods.er import ER\nraise SystemExit\n'
    path.write_text(head + 'class Mine(ER):\n    share: Share = 0.5\n    """of something"""\n')
    lines = list(method_details(f"{path}:Mine"))
    (line,) = [line for line in lines if line.startswith("share ")]
    assert " ".join(line.split()) == "share 0.5 a number from 0 to 1 of something"
    for text in (f"{path}:Yours", f"{tmp_path / 'none.py'}:Mine", "bisson"):
        with pytest.raises(UserError):
            list(method_details(text))


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("from torch.nn import Base\n", "class Mine(Base):\n    lr: float = 1.0\n"),
        ("from torch import pi\n", "class Mine:\n    angle: float = pi\n"),
        ("", "class Mine:\n    shape: tuple[int, int] = (1, 2)\n"),
    ],
)
def test_settings_that_only_running_the_file_would_tell(
    head: str, body: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(head + body)
    with pytest.raises(UserError, match=r"does not tell its settings \(.+\); `bison-ocl check"):
        list(method_details(f"{path}:Mine"))


def test_a_method_of_an_installed_package_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "REGISTERED", {})
    point = EntryPoint("mine", "bison_ocl.contract.template:Mine", outside.GROUP)
    monkeypatch.setattr(outside, "entry_points", lambda group: [point])
    assert any(line.startswith("weight ") for line in method_details("mine"))
    with pytest.raises(UserError, match="did you mean 'mine'"):
        list(method_details("minne"))


def test_datasets_and_streams_are_described() -> None:
    assert {
        "50,000 training and 10,000 test images of 32x32",
        "memory sizes in `reproduce`: 200, 500, 1000",
        f"`bison-ocl data fetch split-cifar10` downloads {ARCHIVES['split-cifar10'].url}",
    } <= set(dataset_details("split-cifar10"))
    folder = "\n".join(dataset_details("folder:PATH"))
    assert all(text in folder for text in ("--image-size", "default: 32", "default: 0.2"))
    lines = [" ".join(line.split()) for line in stream_details("blurry")]
    assert {"disjoint 50 0 to 100", "spill 10 0 to 100"} <= set(lines)
    for name in STREAMS:
        *_, last = stream_details(name)
        assert last.startswith(f"Choose it with --stream {name}")
        assert parse(last.split()[-1].replace("PATH", "confusion")).name == name
    for name in DATASETS:
        assert list(dataset_details(name))[1] == ""
    with pytest.raises(UserError, match="did you mean 'split-cifar10'"):
        list(dataset_details("cifar10"))
    with pytest.raises(UserError, match="did you mean 'blurry'"):
        list(stream_details("blury"))


def test_a_dataset_without_known_size_has_no_options_of_a_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(DATASETS, "split-new", "digits")
    assert not [line for line in dataset_details("split-new") if "--" in line]


def test_what_is_known_of_datasets_without_reading_them_is_true() -> None:
    found, size = load("split-digits"), SIZES["split-digits"]
    told = (len(found.train), len(found.test), found.tasks, found.shape[1])
    assert told == (size.train, size.test, size.tasks, size.side)


HEAVY = ("torch", "numpy", "matplotlib", "plotly", "PIL", "ray")


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "--version",
        "methods",
        "methods bison",
        "methods onpro",
        "datasets",
        "datasets split-cifar10",
        "streams",
        "streams blurry",
        "run --help",
        "reproduce --help",
        "reproduce --list",
    ],
)
def test_commands_that_compute_nothing_import_nothing_heavy(words: str, tmp_path: Path) -> None:
    """Their time is half a second; importing torch alone takes twice as long."""
    code = (
        f"import sys, time; start = time.process_time(); sys.argv[1:] = {words.split()!r}\n"
        "from bison_ocl.cli import main\n"
        "try:\n    main()\n"
        "finally:\n"
        f"    print(*[name for name in {HEAVY} if name in sys.modules], file=sys.stderr)\n"
        "    assert time.process_time() - start < 0.75, time.process_time() - start\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == ""
    assert done.stdout
