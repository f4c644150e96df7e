"""Expected calibration error: how far confidence is from accuracy.

Naeini, Cooper & Hauskrecht 2015; as Guo et al. 2017, "On Calibration of Modern Neural Networks",
report it: bins of equal width, weighted by the images in them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

BINS = 15


def expected_calibration_error(confidence: ArrayLike, right: ArrayLike) -> float:
    """Σ_b n_b / n · |accuracy_b − confidence_b|. confidence: of the predicted class, right: bool"""
    sure, hit = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
    place = np.minimum((sure * BINS).astype(int), BINS - 1)
    apart = np.bincount(place, weights=hit - sure, minlength=BINS)
    return float(np.abs(apart).sum() / max(len(sure), 1))
