"""The processor: its model, and whether it has instructions for bfloat16."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}
"""flags of processors with such instructions: AVX-512, AMX, and those of ARM"""


def cpu_name() -> str:
    """The processor's model, if the system provides it."""
    return described("model name") or platform.processor() or "cpu"


def computes_bfloat16() -> bool:
    """Whether products of bfloat16 numbers take fewer instructions than those of float32."""
    flags = described("flags") or described("Features")
    return bool(BFLOAT16 & set(flags.split()))


@cache
def described(field: str) -> str:
    """What Linux says of the first core; nothing elsewhere."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    found = [line.partition(":") for line in lines]
    return next((value.strip() for name, _, value in found if name.strip() == field), "")
