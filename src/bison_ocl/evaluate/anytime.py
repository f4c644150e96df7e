"""Anytime accuracy: the mean accuracy of a learner during training.

Koh et al. 2022 (i-Blurry), A_AUC: the area under the accuracy curve, normalised to [0, 1].
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def area_under_curve(steps: npt.ArrayLike, accuracy: npt.ArrayLike) -> float:
    """Mean accuracy over a stream, each measurement weighted by the steps since the last one.

    steps: increasing, above 0; equal spacing gives the plain mean.
    """
    when, values = np.asarray(steps, np.float64), np.asarray(accuracy, np.float64)
    if when.ndim != 1 or when.shape != values.shape or not when.size:
        raise ValueError(f"{when.shape} steps do not go with {values.shape} accuracies")
    widths = np.diff(when, prepend=0)
    if not np.all(widths > 0):
        raise ValueError("steps must increase, from above 0")
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError("accuracies are fractions between 0 and 1")
    return float(values @ widths / when[-1])
