"""What images between layers are kept in."""

from __future__ import annotations

import pytest
import torch

from bison_ocl.nets.kernels.convolution import ROUNDING
from bison_ocl.nets.precision import PRECISIONS, Precision, image_type


@pytest.mark.parametrize(
    ("precision", "weights", "images"),
    [
        ("tf32", torch.float32, torch.float32),
        ("fp32", torch.float32, torch.float32),
        ("bf16", torch.float32, torch.bfloat16),
        ("tf32", torch.float64, torch.float64),
        ("bf16", torch.float64, torch.float64),
    ],
)
def test_image_type(precision: Precision, weights: torch.dtype, images: torch.dtype) -> None:
    assert image_type(precision, weights) == images


def test_every_precision_says_how_kernels_round() -> None:
    assert set(ROUNDING) == set(PRECISIONS) == {"tf32", "bf16", "fp32"}
    assert ROUNDING["fp32"] == "ieee"
