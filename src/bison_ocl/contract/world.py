"""A tiny world for checks: a small backbone and an easy stream."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine.step import Engine
from bison_ocl.methods.method import Method
from bison_ocl.methods.start import first_state
from bison_ocl.nets.net import Backbone
from bison_ocl.nets.norm import Mode, Norm
from bison_ocl.nets.resnet import fan_in_uniform
from bison_ocl.rng import Key
from bison_ocl.state import State
from bison_ocl.tree import Tensors

CLASSES, TASKS = 4, 2
SHAPE = (3, 8, 8)


@dataclass(frozen=True)
class Tiny:
    """One 3x3 convolution of stride 2, normalised, averaged over the image. -> [B, d]"""

    features: int = 8
    shares_passes = False

    def parameters(self, key: Key) -> Tensors:
        return {
            "stem.weight": fan_in_uniform(key.named("stem"), (self.features, 3, 3, 3)),
            "stem.scale": torch.ones(self.features),
            "stem.shift": torch.zeros(self.features),
        }

    def statistics(self, params: Tensors) -> Tensors:
        shift = params["stem.shift"]
        return {"stem.mean": torch.zeros_like(shift), "stem.variance": torch.ones_like(shift)}

    def __call__(
        self, params: Tensors, stats: Tensors, x: Tensor, mode: Mode, parts: int = 1
    ) -> tuple[Tensor, Tensors]:
        norm = Norm(params, stats, mode)
        x = F.conv2d(x, params["stem.weight"], stride=2, padding=1)
        return F.relu(norm("stem", x)).mean((2, 3)), norm.moved


def images(y: Tensor, seed: int = 0, shape: tuple[int, int, int] = SHAPE) -> Tensor:
    """Noisy stripes as bytes [B, 3, H, W]; direction and colour identify up to 16 classes."""
    across = torch.arange(shape[2]).expand(shape[1:]) % 2
    stripes = torch.where((y % 2 == 0)[:, None, None], across, across.T)[:, None]
    colour = (y[:, None] // 2 >> torch.arange(3)) % 2
    clean = 60 + 80 * colour[:, :, None, None] + 80 * stripes
    noise = torch.randint(0, 36, (len(y), *shape), generator=torch.Generator().manual_seed(seed))
    return (clean + noise).to(torch.uint8)


def labelled(y: Tensor, seed: int = 0) -> Batch:
    """Images of the given classes."""
    return Batch(images(y, seed), y)


def stream(
    seed: int = 0, classes: int = CLASSES, tasks: int = TASKS, steps: int = 6
) -> list[list[Batch]]:
    """Tasks of `steps` batches of ten; each task has its share of the classes, in order of ids."""
    share = classes // tasks
    generator = torch.Generator().manual_seed(seed)

    def next_batch(task: int, step: int) -> Batch:
        y = task * share + torch.randint(0, share, (10,), generator=generator)
        return labelled(y, seed=1000 * seed + steps * task + step)

    return [[next_batch(task, step) for step in range(steps)] for task in range(tasks)]


def held_out(per_class: int = 10, classes: int = CLASSES) -> Batch:
    """Test images, which no stream shows."""
    return labelled(torch.arange(classes).repeat_interleave(per_class), seed=10**6)


def begin(
    method: Method,
    seed: int = 0,
    *,
    backbone: Backbone | None = None,
    classes: int = CLASSES,
    capacity: int = 20,
    shape: tuple[int, ...] = SHAPE,
    dtype: torch.dtype = torch.float64,
    closed: bool = True,
) -> State:
    """A run of `method` before its first step."""
    backbone = backbone or Tiny()
    return first_state(method, seed, backbone, classes, capacity, shape, dtype=dtype, closed=closed)


def train(method: Method, me: State, tasks: list[list[Batch]]) -> State:
    """The state after a stream, with its last task ended."""
    engine = Engine(method)
    for task in tasks:
        for batch in task:
            me, _ = engine.step(me, batch)
        me = engine.end_task(me)
    return me


def snapshot(value: object) -> Tensors:
    """Copies of all tensors of a tree, to compare with later."""
    return {name: leaf.detach().clone() for name, leaf in tree.named(value).items()}


def same(one: Tensors, other: Tensors) -> bool:
    """Whether two snapshots agree bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
