"""When the next snapshot is due: class means over a large memory cost more than a step.

A snapshot is renewed when the steps since took as long as renewing it does, so that predicting at
every step about doubles the cost of learning, and more often soon after a new class.
"""

from __future__ import annotations

from math import ceil, inf

from bison_ocl.learner.snapshot import Snapshot
from bison_ocl.methods.method import Method

PASSES = 3
"""forward passes that cost as much as learning from an image: the backward pass takes two"""
USUAL = 20
"""images of a step, old and new, for which a method declares its passes"""


def is_due(step: int, snapshot: Snapshot | None, new_class_at: int, spacing: float) -> bool:
    """Whether a snapshot is too old at a step. new_class_at: the last step that met a new class.

    At least every `spacing` steps, and soon after a new class: when three times as many steps have
    passed since then as at the last snapshot.
    """
    if snapshot is None or step - snapshot.step >= spacing:
        return True
    return step > snapshot.step and step - new_class_at >= 3 * (snapshot.step - new_class_at)


def affordable(passes: int, method: Method, frozen: bool) -> float:
    """Steps, at least one, that cost as much as so many images in a forward pass.

    frozen: whether steps compute no gradient of the backbone.
    """
    images = sum(method.learned) * (method.stream_batch + method.buffer_batch) / USUAL
    worth = (1 if frozen else PASSES) * images
    return max(1, ceil(passes / worth)) if worth else inf
