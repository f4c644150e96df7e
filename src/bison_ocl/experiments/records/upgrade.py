"""Upgrade lines of earlier schemas to the current one."""

from __future__ import annotations

from typing import Any

from bison_ocl.experiments.records.record import SCHEMA
from bison_ocl.experiments.records.spec import PLAIN, computed_in

GPU = "NVIDIA"
"""how the device's name begins in records from before peak memory was measured"""


def upgraded(values: dict[str, Any]) -> dict[str, Any]:
    """A checked line in the current schema; a missing field gets its default."""
    return values if values["schema"] == SCHEMA else from_first(values)


def from_first(values: dict[str, Any]) -> dict[str, Any]:
    """Schema 1 did not name the kind of device, and called float32 on a CPU tf32."""
    environment, precision = values["environment"], values.get("precision", PLAIN)
    on_gpu = "peak_MB" in values["timing"] or environment["device"].startswith(GPU)
    device_type = "cuda" if on_gpu else "cpu"
    return {
        **values,
        "schema": SCHEMA,
        "precision": computed_in(precision, device_type),
        "environment": {**environment, "device_type": device_type},
    }
