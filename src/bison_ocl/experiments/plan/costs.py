"""Cost of a run in steps of ER on 32x32 images, and the time of such a step on this machine.

A rough guide for plans and time left. The cost follows from the images per step that a method
declares, within 30 % of the times measured on a CPU (benchmarks/step.json). On a GPU, which
stacks seeds, the time of a step is a tenth of a step of ten stacked runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bison_ocl.experiments.records.spec import PLAIN
from bison_ocl.methods.declared import facts, settings_on

if TYPE_CHECKING:
    from bison_ocl.nets.precision import Precision

BATCH, FILTERS = 10, 20
"""of the step that serves as unit"""
LEARNED, SCORED = 1 / 40, 1 / 240
"""cost of an image in steps of ER, which learns from 40; without gradients a sixth of that"""
TESTED = 1 / 120
"""cost of a classified image: a third of one to learn from"""


@dataclass(frozen=True)
class Size:
    """The size of a dataset, which determines its cost."""

    train: int
    test: int
    tasks: int
    side: int


SIZES = {
    "split-digits": Size(1400, 340, 5, 32),
    "split-cifar10": Size(50_000, 10_000, 5, 32),
    "split-cifar100": Size(50_000, 10_000, 10, 32),
    "split-miniimagenet": Size(50_000, 10_000, 10, 84),
    "split-tinyimagenet": Size(100_000, 10_000, 10, 64),
}
UNKNOWN = Size(50_000, 10_000, 10, 32)
"""the assumed size of a user's dataset, unknown until it is read"""


def cost(name: str, data: str, memory: int, settings: Mapping[str, Any]) -> float:
    """The cost of a run in steps of ER; imports nothing heavy for a method of the package."""
    size, method, chosen = SIZES.get(data, UNKNOWN), facts(name), settings_on(name, data, settings)
    assert method is not None
    stream_batch = chosen["stream_batch"]
    batch = (stream_batch + chosen["buffer_batch"]) / (2 * BATCH)
    step = batch * (LEARNED * sum(method.learned) + SCORED * sum(method.scored))
    refit = LEARNED * method.learned_at_test * memory
    tests = size.tasks * refit + TESTED * size.test * (size.tasks + 1) / 2
    image = (size.side / 32) ** 2 * (chosen["filters"] / FILTERS) ** 2
    return float(image * (size.train / stream_batch * step + tests))


SHAPE, CLASSES, MEMORY = (3, 32, 32), 10, 20
WARM, TIMED = 5, 5
"""numbers of steps; the first fill the memory and capture the CUDA graphs"""
TOGETHER = 10
"""stacked runs on a GPU"""


def seconds_of_a_step(device: str, precision: Precision = PLAIN, alone: bool = False) -> float:
    """Seconds per step of one run of ER, measured now; with one thread on a CPU.

    alone: for a single run instead of one among stacked runs on a GPU
    """
    import torch

    from bison_ocl.engine.execution import is_cuda
    from bison_ocl.experiments.train import devices

    threads = torch.get_num_threads()
    runs = TOGETHER if is_cuda(device) and not alone else 1
    torch.set_num_threads(1)
    try:
        step = step_of_er(device, runs, precision)
        for _ in range(WARM):
            step()
        times = [devices.now(device)]
        for _ in range(TIMED):
            step()
            times.append(devices.now(device))
    finally:
        torch.set_num_threads(threads)
    return min(after - before for before, after in pairwise(times)) / runs


def step_of_er(device: str, runs: int, precision: Precision) -> Callable[[], object]:
    """A function that takes a step of stacked runs of ER on random images."""
    import torch

    from bison_ocl import tree
    from bison_ocl.batch import Batch
    from bison_ocl.engine.execution import Execution
    from bison_ocl.methods.settings import configured
    from bison_ocl.methods.start import first_state

    method, stacked, execution = configured("er", None, {}), runs > 1, Execution(device, precision)
    backbone = execution.backbone(method, SHAPE)
    me = first_state(method, 0, backbone, CLASSES, MEMORY, SHAPE, device=device)
    x = torch.randint(0, 256, (method.stream_batch, *SHAPE)).to(device, torch.uint8)
    new = Batch(x, torch.arange(len(x), device=device) % CLASSES)
    if stacked:
        me, new = tree.stack([me] * runs), tree.stack([new] * runs)
    return partial(execution.stepper(execution.engine(method, stacked), me).step, new)


UNITS = (("days", 86_400), ("h", 3_600), ("min", 60))


def lasting(seconds: float) -> str:
    """Seconds in a fitting unit: `45 s`, `12.0 min`, `3.5 h`, `2.1 days`."""
    for unit, size in UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
