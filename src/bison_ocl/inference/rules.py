"""Inference rules by name, for the command line and for `Learner`: `ncm`, `ld-centred-crop`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from bison_ocl.inference.linear_discriminant import LinearDiscriminant
from bison_ocl.inference.nearest_class_mean import NearestClassMean
from bison_ocl.inference.rule import Rule

CROP = 0.8
"""share of the sides of an image that the central part of `-crop` has"""

KINDS: Mapping[str, Callable[..., Rule]] = {
    "ncm": NearestClassMean,
    "ncm-raw": partial(NearestClassMean, normalise=False),
    "ncm-centred": partial(NearestClassMean, centred=True),
    "ld": LinearDiscriminant,
    "ld-centred": partial(LinearDiscriminant, shrinkage=1.0, centred=True),
}
VIEWS: Mapping[str, dict[str, Any]] = {
    "": {},
    "-mirror": {"mirror": True},
    "-crop": {"mirror": True, "crop": CROP},
}

RULES: dict[str, Rule] = {
    kind + views: rule(**options)
    for kind, rule in KINDS.items()
    for views, options in VIEWS.items()
}
