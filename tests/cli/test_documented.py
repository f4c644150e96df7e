"""Every command and example of README, CONTRIBUTING and docs runs.

A fenced command runs as it is printed, in a folder of its own, on few digits and a small network. A
command that cannot has a line in INSTEAD, which says what runs in its place, or that it is parsed
only, and why. A command in a sentence is parsed. What is neither fails here.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from bison_ocl.cli.app import app
from bison_ocl.experiments.carry import local
from bison_ocl.experiments.plan import costs
from bison_ocl.report.figures import views
from tests.cli.calling import Call
from tests.digits import few, use
from tests.experiments.inline import one_by_one
from tests.learners import herd

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "benchmarks/README.md")
    if path.name not in ("CHANGELOG.md",)
)

SMALLER = {"0-9": "0,9", "0-4": "0,4", "0-2": "0,2"}
"""fewer seeds: the same commands in seconds"""
SMALL = ("filters=1", "stream_batch=20")
"""settings that every training command gets, unless it sets them itself"""

PROGRAMS = ("bison-ocl", "make", "pip", "python", "curl")
READERS: dict[str, Callable[[str], object]] = {"json": json.loads, "toml": tomllib.loads}
LANGUAGES = {"sh", "", "python", *READERS}

PLAN = "trains for hours, or needs data that the tests have not: its plan is made"


@dataclass(frozen=True)
class Instead:
    """What runs instead of a command; nothing means that the command is only parsed."""

    why: str
    runs: str | None = None


INSTEAD = {
    "bison-ocl data fetch split-cifar10": Instead("the tests download nothing"),
    "bison-ocl run bison --data split-cifar10 --memory 1000 --seeds 0-9 --out runs": Instead(
        "the tests have no CIFAR-10",
        "bison-ocl run bison --data split-digits --memory 1000 --seeds 0-9 --out runs",
    ),
    "bison-ocl reproduce table1": Instead(PLAN, "bison-ocl reproduce table1 --plan"),
    "bison-ocl reproduce ablation ncm": Instead(PLAN, "bison-ocl reproduce ablation ncm --plan"),
    "bison-ocl reproduce table1 --seeds 0-2 --methods er,bison --data split-cifar10 "
    "--memory 200,500": Instead(
        PLAN,
        "bison-ocl reproduce table1 --seeds 0-2 --methods er,bison --data split-cifar10 "
        "--memory 200,500 --plan",
    ),
    "bison-ocl reproduce ablation --data split-digits --set filters=4": Instead(
        "ten seeds take minutes",
        "bison-ocl reproduce ablation --data split-digits --set filters=1 --seeds 0",
    ),
    "bison-ocl reproduce beyond --device cuda --precision bf16 --out results": Instead(
        PLAN, "bison-ocl reproduce beyond --plan --precision bf16 --out results"
    ),
    "bison-ocl reproduce beyond --data split-miniimagenet --seeds 0-2 --device cuda "
    "--precision bf16 --out results": Instead(
        PLAN,
        "bison-ocl reproduce beyond --data split-miniimagenet --seeds 0-2 --plan "
        "--precision bf16 --out results",
    ),
    "bison-ocl serve herd.safetensors": Instead("serves until Ctrl-C; tests/serve calls it"),
    "curl 127.0.0.1:8000/metrics": Instead("needs the server; tests/serve asks for the same"),
}

COVERED = {"docs/LEARNER.md": "tests/test_recipes.py runs its recipes, section by section"}
"""pages whose Python examples another test runs"""

NO_COMMANDS = {"bison-ocl 1": "the format that checkpoints name"}

PLACEHOLDERS = {
    "<name>": "er",
    "FILE": "herd.safetensors",
    "DIR": "there",
    "NAME": "bison",
    "name=value": "lr=0.1",
    "ITEM": "table1",
}
"""of commands in sentences"""

GIVEN = {
    "docs/REPORT.md": (
        *("runs/results.jsonl", "pilots/one.jsonl", "one/results.jsonl", "two/results.jsonl"),
    ),
    "docs/REPRODUCE.md": ("reproduction/table1/results.jsonl",),
}
"""files of records that a page takes for granted"""


def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def fences(text: str) -> list[tuple[str, str]]:
    """Language and content of every fenced block."""
    found = re.findall(r"^( *)```(\w*)\n(.*?)^\1```$", text, re.M | re.S)
    return [
        (language, re.sub(f"^{space}", "", body, flags=re.M)) for space, language, body in found
    ]


def commands(body: str) -> list[str]:
    """The commands of a block, without comments, continued lines joined."""
    lines = re.sub(r"\\\n\s*", "", body).splitlines()
    return [" ".join(words) for line in lines if (words := shlex.split(line, comments=True))]


def fenced(page: str) -> list[str]:
    shell = [body for language, body in fences(text_of(page)) if language in ("sh", "")]
    return [command for body in shell for command in commands(body)]


def spoken(page: str) -> list[str]:
    """The commands in sentences and tables."""
    text = re.sub(r"^( *)```.*?^\1```$", "", text_of(page), flags=re.M | re.S)
    found = (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text))
    commands = [span for span in found if span.split()[0] in PROGRAMS and " " in span]
    return [command for command in commands if command not in NO_COMMANDS]


# --- what is there to find ---


def test_the_reader_of_pages() -> None:
    text = "```sh\nmake demo   # now\nbison-ocl run a \\\n    --b\n```\n"
    text += "\n   ```toml\n   x = 1\n   ```\n"
    assert fences(text)[1] == ("toml", "x = 1\n")
    assert commands(fences(text)[0][1]) == ["make demo", "bison-ocl run a --b"]
    assert len(fenced("README.md")) >= 12
    assert "bison-ocl demo --seeds 0-4" in spoken("README.md")


def test_every_block_is_of_a_known_language_and_every_command_of_a_known_program() -> None:
    for page in PAGES:
        for language, _ in fences(text_of(page)):
            assert language in LANGUAGES, page
        for command in fenced(page):
            assert command.split()[0] in PROGRAMS, f"{page}: {command}"


def test_no_exception_is_out_of_date() -> None:
    printed = {command for page in PAGES for command in fenced(page)}
    assert INSTEAD.keys() <= printed
    assert COVERED.keys() | GIVEN.keys() <= set(PAGES)


# --- commands ---


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Few digits, one figure per report, no other process, a machine of known speed."""
    use(monkeypatch, few)
    monkeypatch.setattr(local, "carry_out", in_this_process)
    monkeypatch.setattr(costs, "seconds_of_a_step", lambda *device, **alone: 0.1)
    monkeypatch.setattr(views, "GENERIC", {"curves": views.GENERIC["curves"]})
    monkeypatch.setenv("BISON_OCL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def in_this_process(jobs: Any, started: Any, done: Any, **options: object) -> None:
    one_by_one(jobs, started, done)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if fences(text_of(page))])
def test_fenced_commands_and_examples_run(page: str, call: Call) -> None:
    prepare(page, call)
    for command in fenced(page):
        instead = INSTEAD.get(command)
        if instead is None or instead.runs is not None:
            ran(shlex.split(instead.runs if instead and instead.runs else command), call)
        parsed(shlex.split(command))
    for language, body in fences(text_of(page)):
        if language == "python" and page not in COVERED:
            exec(compile(body, page, "exec"), given())
        elif language in READERS:
            READERS[language](body)


def prepare(page: str, call: Call) -> None:
    """The files that a page takes for granted."""
    settings = [body for language, body in fences(text_of(page)) if language == "toml"]
    Path("grid.toml").write_text("".join(settings))
    if places := GIVEN.get(page):
        ran(shlex.split("bison-ocl run er,bison --data split-digits --memory 20 --out once"), call)
        lines = Path("once/results.jsonl").read_text()
        for place in map(Path, places):
            place.parent.mkdir(parents=True)
            place.write_text(9 * lines if page == "docs/REPRODUCE.md" else lines)


def ran(words: Sequence[str], call: Call) -> None:
    """Run a command of this package; of any other, check that it would."""
    if words[0] != "bison-ocl":
        return parsed(words)
    said = call(*smaller(words[1:]))
    assert said.status == 0, f"{shlex.join(words)}\n{said.err}"


def smaller(words: Sequence[str]) -> list[str]:
    """The same command with fewer seeds and a small network."""
    words = [SMALLER.get(word, word) for word in words]
    trains = words[0] == "run" or (words[0] == "reproduce" and "--plan" not in words)
    if not trains or "--list" in words:
        return words
    own = {word.partition("=")[0] for word in words}
    added = [one for one in SMALL if one.partition("=")[0] not in own]
    return [*words, *(word for one in added for word in ("--set", one))]


def given() -> dict[str, Any]:
    """What examples begin with."""
    x, y = herd(20)
    return {"images": x.permute(0, 2, 3, 1).contiguous().numpy(), "labels": [str(i) for i in y]}


# --- commands that are only parsed ---


@pytest.mark.parametrize("page", [page for page in PAGES if spoken(page)])
def test_commands_in_sentences_are_understood(page: str) -> None:
    for command in spoken(page):
        words = re.sub(r" \[[^]]*\]", "", command)  # what one may add
        for placeholder, value in PLACEHOLDERS.items():
            words = words.replace(placeholder, value)
        try:
            parsed(shlex.split(words))
        except Exception as error:
            if "Missing parameter" not in str(error):  # a sentence may name the command alone
                pytest.fail(f"{page}: {command}: {error}")


def parsed(words: Sequence[str]) -> None:
    """Refuse a command whose program, target, extra, module, option or argument does not exist."""
    {"bison-ocl": options, "make": target, "pip": extra, "python": module, "curl": bool}[words[0]](
        words[1:]
    )


def options(words: Sequence[str]) -> None:
    """Let the parser of the command read its words; nothing runs."""
    command: Any = get_command(app)
    if words[0].startswith("--"):
        assert any(words[0] in one.opts for one in command.params), words[0]
        return
    context, rest = command.make_context("bison-ocl", [*words], resilient_parsing=True), [*words]
    while hasattr(command, "resolve_command"):
        name, command, rest = command.resolve_command(context, rest)
        if hasattr(command, "resolve_command"):
            context = command.make_context(name, [*rest], parent=context, resilient_parsing=True)
    if "--help" not in rest:
        command.make_context(name, [*rest], parent=context)


def target(words: Sequence[str]) -> None:
    """Targets of the Makefile, and programs that its lines name."""
    lines = (ROOT / "Makefile").read_text()
    for word in words:
        assert re.search(rf"^{re.escape(word)}:", lines, re.M), f"no target {word}"


def extra(words: Sequence[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [name for word in words for name in re.findall(r"^bison-ocl\[(.+)\]$", word)]
    assert words[0] == "install"
    assert {one for name in wanted for one in name.split(",")} <= {
        *project["optional-dependencies"]
    }
    for word in words[1:]:
        assert word.startswith(("-", "bison-ocl")) or (ROOT / word).exists(), word


def module(words: Sequence[str]) -> None:
    """A script of the repository, or `-m` and a module."""
    if words[0] == "-m":
        assert importlib.util.find_spec(words[1]) is not None, words[1]
    else:
        assert (ROOT / words[0]).is_file(), words[0]


@pytest.mark.parametrize(
    "wrong",
    [
        "bison-ocl run er --data split-digits --memroy 3",
        "bison-ocl run er --set lr=0.1",
        "bison-ocl fly",
        "bison-ocl data throw split-cifar10",
        "make dinner",
        "pip install 'bison-ocl[nothing]'",
        "python -m benchmarks.nothing",
    ],
)
def test_what_does_not_exist_is_found(wrong: str) -> None:
    with pytest.raises((Exception, SystemExit)):
        parsed(shlex.split(wrong))
