"""All classes shuffled together, one pass, one task: the upper reference.

Aljundi et al. 2019 (MIR), "iid online": accuracy of an online learner without forgetting.
"""

from __future__ import annotations

import torch

from bison_ocl.data.dataset import Dataset
from bison_ocl.stream.tasks import Stream, disjoint


def iid(dataset: Dataset, seed: int) -> Stream:
    """A single task that holds every image."""
    return disjoint(dataset, seed, [torch.arange(dataset.classes)])
