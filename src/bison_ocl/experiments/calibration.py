"""How long a step takes on this machine: a few steps of ER, timed now."""

from __future__ import annotations

from itertools import pairwise

import torch

from bison_ocl.batch import Batch
from bison_ocl.engine import Engine
from bison_ocl.experiments import device
from bison_ocl.experiments.group import alive
from bison_ocl.learner import backbone_for
from bison_ocl.methods.settings import configured

SHAPE, CLASSES, MEMORY = (3, 32, 32), 10, 20
WARM, TIMED = 5, 5
"""steps; the first fill the memory, and record the graphs of a GPU"""


def seconds_of_a_step(name: str) -> float:
    """One step of ER, 10 stream and 10 buffer images of 32x32; on CPU with one thread."""
    method = configured("er", None, {})
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (method.stream_batch, *SHAPE), generator=generator)
    new = Batch(x.to(name, torch.uint8), torch.arange(len(x), device=name) % CLASSES)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        me = method.init(0, backbone_for(method, SHAPE), CLASSES, MEMORY, SHAPE, device=name)
        body = alive(Engine(method), me, name, compiled_in=None)
        for _ in range(WARM):
            body.step(new)
        times = [device.now(name)]
        for _ in range(TIMED):
            body.step(new)
            times.append(device.now(name))
    finally:
        torch.set_num_threads(threads)
    return min(after - before for before, after in pairwise(times))
