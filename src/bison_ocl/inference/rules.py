"""Inference rules by name, for the command line and for `Learner`: `ncm`, `ld-centred-crop`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bison_ocl.inference.centred_class_mean import CentredClassMean
from bison_ocl.inference.features import Views
from bison_ocl.inference.linear_discriminant import LinearDiscriminant
from bison_ocl.inference.nearest_class_mean import NearestClassMean
from bison_ocl.inference.rule import Rule

KINDS: Mapping[str, Callable[[Views], Rule]] = {
    "ncm": lambda views: NearestClassMean(views=views),
    "ncm-raw": lambda views: NearestClassMean(normalise=False, views=views),
    "ncm-centred": CentredClassMean,
    "ld": lambda views: LinearDiscriminant(views=views),
    "ld-centred": lambda views: LinearDiscriminant(shrinkage=1.0, views=views, centred=True),
}
VIEWS = {"": Views(), "-mirror": Views(mirror=True), "-crop": Views(mirror=True, crop=0.8)}

RULES: dict[str, Rule] = {
    kind + name: rule(views) for kind, rule in KINDS.items() for name, views in VIEWS.items()
}
