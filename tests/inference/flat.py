"""A network whose features are the bytes of an image, and memories of a few such images."""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.memory.memory import Memory, Write, empty
from bison_ocl.nets.net import Design, Net
from bison_ocl.rng import key_of
from tests.tiny import Flat, with_params


def flat_net(width: int) -> Net:
    """Its features are the bytes themselves."""
    net = Design(Flat(width), {}, {}).born(key_of(0, 0, "init"), 2, torch.float64)
    return with_params(net, "backbone", weight=255 * torch.eye(width))


def showing(z: Tensor) -> Tensor:
    """Float images [B, 1, 1, d] that have z as their features."""
    return z[..., None, None, :] / 255


def memory_of(rows: list[list[int]], labels: list[int], capacity: int = 0) -> Memory:
    x = torch.tensor(rows, dtype=torch.uint8)[:, None, None, :]
    memory = empty(max(capacity, len(rows)), tuple(x.shape[1:]), {}, torch.device("cpu"))
    memory.x.fill_(255)  # empty rows and the spare one must not count
    n = len(rows)
    return memory.write(Batch(x, torch.tensor(labels)), Write(torch.arange(n), torch.tensor(n)))


def many(n: int, classes: int, capacity: int = 0) -> Memory:
    """Random images of random classes."""
    generator = torch.Generator().manual_seed(n)
    rows = torch.randint(0, 256, (n, 6), generator=generator).tolist()
    labels = torch.randint(0, classes, (n,), generator=generator).tolist()
    return memory_of(rows, labels, capacity)
