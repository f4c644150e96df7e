"""`serve`: what is refused in one line before anything is served."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from bison_ocl.cli.learner import serve
from tests.cli.calling import Call, refused
from tests.serve.serving import saved


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("BISON_OCL_TOKEN", raising=False)
    saved(tmp_path / "herd.safetensors")
    return tmp_path / "herd.safetensors"


def test_files_that_cannot_be_served_are_refused(call: Call, tmp_path: Path) -> None:
    refused(call("serve", tmp_path / "absent", "--port", "0"), "no file", "check the path")
    for folder in (".", "/", tmp_path):
        refused(call("serve", folder, "--port", "0"), "not a regular file; give a learner's file")
    (tmp_path / "text").write_text("no learner")
    refused(call("serve", tmp_path / "text", "--port", "0"), "not a bison-ocl file")


def test_a_network_needs_a_token(call: Call, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(call("serve", path, "--host", "0.0.0.0"), "set BISON_OCL_TOKEN, or use 127.0.0.1")
    refused(call("serve", path, "--host", "herd.example"), "set BISON_OCL_TOKEN")
    monkeypatch.setenv("BISON_OCL_TOKEN", "short")
    refused(call("serve", path), "BISON_OCL_TOKEN has 5 characters: expected at least 16")
    for never_sent in (
        "a tökén of some length",
        "a token of some length ",
        "a token of\nsome length",
    ):
        monkeypatch.setenv("BISON_OCL_TOKEN", never_sent)
        refused(call("serve", path), "BISON_OCL_TOKEN does not fit into a header: use ASCII")


def test_a_port_in_use_is_refused(call: Call, path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused(call("serve", path, "--port", port), f"port {port}", "choose another --port")


@pytest.mark.parametrize("option", ["--save-every", "--most-bytes", "--most-images"])
def test_limits_are_above_0(call: Call, path: Path, option: str) -> None:
    refused(call("serve", path, option, "0"), f"{option} 0: expected a number above 0")


def test_a_missing_extra_is_named(call: Call, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    refused(call("serve", path), "starlette and uvicorn missing: pip install 'bison-ocl[serve]'")
