"""In which numbers the backbone's convolutions are computed; everything else is in float32."""

from __future__ import annotations

from typing import Literal, get_args

import torch

from bison_ocl.errors import UserError

Precision = Literal["tf32", "bf16", "fp32"]
"""tf32: float32, rounded to TF32 inside matrix products where the device can; bf16: images between
layers in bfloat16 as well; fp32: nothing is rounded."""

PRECISIONS: tuple[Precision, ...] = get_args(Precision)


def checked_precision(name: object) -> Precision:
    """The precision of that name; any other name is refused."""
    for precision in PRECISIONS:
        if precision == name:
            return precision
    raise UserError(f"precision {name}: choose tf32, bf16 or fp32")


def image_type(precision: Precision, dtype: torch.dtype) -> torch.dtype:
    """What images between layers are kept in, for weights of `dtype`."""
    return torch.bfloat16 if precision == "bf16" and dtype == torch.float32 else dtype
