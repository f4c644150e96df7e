"""Precision of convolutions and of the images between layers; everything else is float32."""

from __future__ import annotations

from typing import Literal, get_args

import torch

from bison_ocl.errors import UserError

Precision = Literal["tf32", "bf16", "fp32"]
"""tf32: float32, rounded to TF32 in matrix products if the device supports it; bf16: bfloat16, also
for images between layers; fp32: float32"""

PRECISIONS: tuple[Precision, ...] = get_args(Precision)


def checked_precision(name: object) -> Precision:
    """The precision of that name; other names are refused."""
    for precision in PRECISIONS:
        if precision == name:
            return precision
    raise UserError(f"precision {name}: choose tf32, bf16 or fp32")


def image_type(precision: Precision, dtype: torch.dtype) -> torch.dtype:
    """The dtype of images between layers, for weights of `dtype`."""
    return torch.bfloat16 if precision == "bf16" and dtype == torch.float32 else dtype
