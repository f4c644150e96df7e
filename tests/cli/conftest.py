"""What tests of commands share: a way to call one."""

from __future__ import annotations

import pytest

from tests.cli.calling import Call


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return Call(monkeypatch, capsys)
