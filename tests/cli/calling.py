"""The command called inside this process, which has paid for torch already."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from bison_ocl.cli import main


class Said(NamedTuple):
    status: int
    out: str
    err: str


class Call:
    """Calls the command and keeps what it said."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.patch, self.capsys = monkeypatch, capsys

    def __call__(self, *words: str | Path) -> Said:
        self.patch.setattr(sys, "argv", ["bison-ocl", *map(str, words)])
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = self.capsys.readouterr()
        code = caught.value.code
        return Said(code if isinstance(code, int) else 0 if code is None else 1, out, err)


def refused(said: Said, *parts: str) -> None:
    """One line that says what is wrong, on standard error alone, with status 2."""
    assert said.status == 2, said
    assert said.out == ""
    assert said.err.startswith("bison-ocl: ")
    assert said.err.count("\n") == 1, said.err
    for part in parts:
        assert part in said.err
