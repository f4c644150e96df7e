"""Work on all leaves of a tree, run by run: are they finite, one of two trees, a moving average.

Few Triton kernels for all leaves on a GPU, PyTorch's operators elsewhere. Leaves have a leading
axis of runs if they are stacked, as the flags of the runs say: [S], or [] for one run.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib.util import find_spec
from itertools import compress
from typing import TypeVar

import torch
from torch import Tensor

from bison_ocl import tree

T = TypeVar("T")


def finite(values: object, like: Tensor) -> Tensor:
    """Whether all floats of each run are finite, as booleans of the shape of `like`."""
    leaves = [leaf for leaf in tree.leaves(values) if leaf.is_floating_point()]
    if all(leaf.dtype == torch.float32 and fits(leaf) for leaf in leaves):
        from bison_ocl.nets.kernels import leaf_kernels

        found = torch.ones_like(like, dtype=torch.bool)
        leaf_kernels.checked([by_run(leaf, like) for leaf in leaves], found.view(torch.uint8))
        return found
    # A sum keeps any NaN or infinity.
    sums = [leaf.reshape(*like.shape, -1).sum(-1) for leaf in leaves]
    return torch.stack(sums).sum(0).isfinite()


def restored(ok: Tensor, made: T, before: T) -> T:
    """`made`, with runs that are not ok as they were before; on a GPU it overwrites `made`."""
    if not (ok.is_cuda and has_triton()):
        return tree.choose(ok, made, before)
    from bison_ocl.nets.kernels import leaf_kernels

    new, old = tree.leaves(made), tree.leaves(before)
    places = Counter(leaf.data_ptr() for leaf in [*new, *old])
    # Overwritten are leaves whose memory no other leaf has.
    ours = [
        places[a.data_ptr()] == 1 and in_words(a) and in_words(b)
        for a, b in zip(new, old, strict=True)
    ]
    leaf_kernels.restored(
        [by_run(leaf.view(torch.int32), ok) for leaf in compress(new, ours)],
        [by_run(leaf.view(torch.int32), ok) for leaf in compress(old, ours)],
        ok.view(torch.uint8),
    )
    pairs = zip(new, old, ours, strict=True)
    return tree.rebuilt(made, [a if own else tree.choose(ok, a, b) for a, b, own in pairs])


def averaged(average: Tensor, values: object, weight: Tensor) -> Tensor:
    """average + weight (values − average); average: [..., P], all floats of a run in a row."""
    leaves = [leaf for leaf in tree.leaves(values) if leaf.is_floating_point()]
    if all(leaf.dtype == torch.float32 and fits(leaf) for leaf in [*leaves, average]):
        from bison_ocl.nets.kernels import leaf_kernels

        rows = by_run(average, weight)
        found = leaf_kernels.average([by_run(leaf, weight) for leaf in leaves], rows, weight)
        return found.reshape(average.shape)
    flat = torch.cat([leaf.reshape(*weight.shape, -1) for leaf in leaves], dim=-1)
    return torch.lerp(average, flat, weight[..., None])


def by_run(leaf: Tensor, like: Tensor) -> Tensor:
    """[S, n], also of one run."""
    return leaf.reshape(like.numel(), -1)


def in_words(leaf: Tensor) -> bool:
    """Whether a kernel may copy a leaf by 32-bit words."""
    return leaf.element_size() % 4 == 0 and leaf.ndim > 0 and fits(leaf)


def fits(leaf: Tensor) -> bool:
    """Whether kernels can take a leaf."""
    return leaf.is_cuda and leaf.is_contiguous() and has_triton()


@cache
def has_triton() -> bool:
    return find_spec("triton") is not None
