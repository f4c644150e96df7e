"""A temperature that turns scores into probabilities one can act on (Guo et al. 2017).

It is fitted on images that are held back from learning. Without them a rule decides: scores of a
head are logits and count as they are; scores of nearest class mean are negative squared distances
of unit features, which lie within 4 of each other, and are divided by a constant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bison_ocl.inference.centred_class_mean import CentredClassMean
from bison_ocl.inference.nearest_class_mean import NearestClassMean
from bison_ocl.inference.rule import Rule
from bison_ocl.learner.arrival import Arrival
from bison_ocl.learner.snapshot import Snapshot
from bison_ocl.methods.method import Method

FEWEST = 10
"""images from which a temperature is fitted"""
NEAREST_MEAN = 0.1
"""temperature of squared distances between unit features (benchmarks/calibration.json)"""
CENTRED_MEAN = 0.3
"""the same between centred features, which lie further apart; best for pilot networks were 0.2 with
100 classes and 0.4 with ten"""
RANGE = 1e4
"""temperatures lie between its inverse and itself"""


def by_rule(method: Method, rule: Rule | None) -> float:
    """The temperature without images to fit it on."""
    own = rule or getattr(method, "rule", None)
    if isinstance(own, CentredClassMean):
        return CENTRED_MEAN
    return NEAREST_MEAN if isinstance(own, NearestClassMean) and own.normalise else 1.0


def fitted(scores: Tensor, y: Tensor) -> float | None:
    """The temperature of least cross-entropy; None if there is too little to fit. scores: [N, C]

    Targets are smoothed as by Platt 1999: (N + 1) / (N + 2) for the label, the rest for the others,
    so that a few images that are all right do not make every prediction certain.
    """
    scores, known = scores.double(), scores.isfinite()
    usable = known.gather(1, y[:, None])[:, 0] & (known.sum(1) > 1)
    scores, known, y = scores[usable], known[usable], y[usable]
    if len(y) < FEWEST:
        return None
    rest = known.double() / (known.sum(1, keepdim=True) - 1) / (len(y) + 2)
    targets = rest.scatter(1, y[:, None], (len(y) + 1) / (len(y) + 2))
    finite = scores.masked_fill(~known, 0)
    wanted = (targets * finite).sum(1).mean()
    low, high = -math.log(RANGE), math.log(RANGE)
    for _ in range(60):  # the mean score under the model grows with 1 / temperature
        middle = (low + high) / 2
        p = (scores * math.exp(middle)).softmax(1)
        if (p * finite).sum(1).mean() < wanted:
            low = middle
        else:
            high = middle
    return min(max(math.exp(-(low + high) / 2), 1 / RANGE), RANGE)


@dataclass(frozen=True)
class Fit:
    """A temperature, and when it was fitted: at which step, for how many labels."""

    temperature: float
    step: int
    labels: int

    def serves(self, snapshot: Snapshot, refresh: int) -> bool:
        """Whether a snapshot may use it; fitting takes a pass over the images held back."""
        return self.labels == len(snapshot.labels) and snapshot.step - self.step < refresh


def fit(snapshot: Snapshot, held_back: Sequence[Arrival]) -> Fit:
    """The temperature of a snapshot, fitted on images held back or, if they are few, by rule."""
    place = {label: i for i, label in enumerate(snapshot.labels)}
    known = [arrival for arrival in held_back if arrival.label in place]
    temperature = None
    if len(known) >= FEWEST:
        y = torch.tensor([place[arrival.label] for arrival in known])
        temperature = fitted(snapshot.scores(torch.stack([a.image for a in known])), y)
    default = by_rule(snapshot.engine.method, snapshot.rule)
    return Fit(temperature or default, snapshot.step, len(place))
