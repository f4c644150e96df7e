"""Inference rules by name, for the command line and for `Learner`."""

from __future__ import annotations

from bison_ocl.inference.linear_discriminant import LinearDiscriminant
from bison_ocl.inference.nearest_class_mean import NearestClassMean
from bison_ocl.inference.rule import Rule

RULES: dict[str, Rule] = {
    "ncm": NearestClassMean(),
    "ncm-mirror": NearestClassMean(mirror=True),
    "ncm-raw": NearestClassMean(normalise=False),
    "ncm-raw-mirror": NearestClassMean(normalise=False, mirror=True),
    "ld": LinearDiscriminant(),
    "ld-mirror": LinearDiscriminant(mirror=True),
}
