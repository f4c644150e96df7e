"""What is known of the processor."""

from __future__ import annotations

from pathlib import Path

import pytest

from bison_ocl.processor import computes_bfloat16, described


def test_what_linux_says_of_the_processor() -> None:
    info = Path("/proc/cpuinfo")
    if not (info.exists() and "model name" in info.read_text()):
        pytest.skip("this system does not describe its processor")
    assert described("model name") in info.read_text()


@pytest.mark.parametrize(
    ("flags", "expected"), [("fpu amx_bf16", True), ("fpu avx512f", False), ("", False)]
)
def test_instructions_for_bfloat16(
    flags: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bison_ocl.processor.described", lambda field: flags)
    assert computes_bfloat16() is expected
