"""Notices of commands, as they reach standard error."""

from __future__ import annotations

import pytest

from bison_ocl.experiments.terminal.show import say


def test_a_notice_shows_a_path_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    say("continue in runs/[1]/:smile:/results.jsonl")
    assert capsys.readouterr().err == "continue in runs/[1]/:smile:/results.jsonl\n"
