"""Trees of tensors: dataclasses, dicts and tuples with tensor leaves; the rest is fixed.

A step takes and returns trees, so that vmap, files and growing heads need no list of fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")
Tensors = dict[str, Tensor]
"""tensors by name"""


def walk(f: Callable[[str, Tensor], Tensor], tree: T) -> T:
    """The same tree with every leaf replaced by f(path, leaf)."""
    walked: T = _walk(f, tree, "")
    return walked


def _walk(f: Callable[[str, Tensor], Tensor], tree: Any, path: str) -> Any:
    if isinstance(tree, Tensor):
        return f(path, tree)
    prefix = f"{path}." if path else ""
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        fields = {name: _walk(f, item, prefix + name) for name, item in vars(tree).items()}
        return dataclasses.replace(tree, **fields)
    if isinstance(tree, dict):
        return {name: _walk(f, item, prefix + name) for name, item in tree.items()}
    if isinstance(tree, tuple):
        return tuple(_walk(f, item, f"{prefix}{i}") for i, item in enumerate(tree))
    assert not isinstance(tree, list), "a list is no tree: its length could change; use a tuple"
    return tree


def map_leaves(f: Callable[[Tensor], Tensor], tree: T) -> T:
    """The same tree with every tensor replaced by f(tensor)."""
    return walk(lambda _, leaf: f(leaf), tree)


def named(tree: object) -> Tensors:
    """Every tensor by its path, as files keep them: {"net.params.stem.weight": ...}."""
    found: Tensors = {}

    def note(path: str, leaf: Tensor) -> Tensor:
        assert path not in found, f"two leaves are called {path}"
        found[path] = leaf
        return leaf

    walk(note, tree)
    return found


def leaves(tree: object) -> list[Tensor]:
    """Every tensor, in the order of the fields."""
    return list(named(tree).values())


def rebuilt(tree: T, values: Sequence[Tensor]) -> T:
    """The same tree with other leaves, given in the order of `leaves`."""
    left: Iterator[Tensor] = iter(values)
    return map_leaves(lambda _: next(left), tree)


def copied(tree: T) -> T:
    """Every tensor copied; on a GPU, many of one dtype by one kernel."""
    old = leaves(tree)
    new = [torch.empty_like(leaf) for leaf in old]
    for dtype in {leaf.dtype for leaf in old}:
        same = [i for i, leaf in enumerate(old) if leaf.dtype == dtype]
        torch._foreach_copy_([new[i] for i in same], [old[i] for i in same])
    return rebuilt(tree, new)


def add(one: T, other: T) -> T:
    """The sum of two trees, leaf by leaf."""
    pairs = zip(leaves(one), leaves(other), strict=True)
    return rebuilt(one, [a + b for a, b in pairs])


def dot(one: object, other: object) -> Tensor:
    """The inner product of two trees as flat vectors."""
    pairs = zip(leaves(one), leaves(other), strict=True)
    return torch.stack([(a * b).sum() for a, b in pairs]).sum()


def stack(trees: Sequence[T]) -> T:
    """Trees of several runs as one, with a leading axis of runs."""
    columns = zip(*(leaves(tree) for tree in trees), strict=True)
    return rebuilt(trees[0], [torch.stack(column).contiguous() for column in columns])


def pick(tree: T, run: int) -> T:
    """One run out of a stack."""
    return map_leaves(lambda leaf: leaf[run].clone(), tree)


def choose(condition: Tensor, yes: T, no: T) -> T:
    """One of two trees of the same form, by a boolean []; per run for stacks."""

    def chosen(a: Tensor, b: Tensor) -> Tensor:
        if a is b:
            return a
        if condition.ndim == 0:  # reshaping it per leaf would take a quarter of the time
            return torch.where(condition, a, b)
        by_run = condition.reshape(condition.shape + (1,) * (a.ndim - condition.ndim))
        return torch.where(by_run, a, b)

    pairs = zip(leaves(yes), leaves(no), strict=True)
    return rebuilt(yes, [chosen(a, b) for a, b in pairs])


def under_vmap(leaf: Tensor) -> bool:
    """Whether a tensor is batched by vmap, differentiated or not."""
    while torch._C._functorch.is_gradtrackingtensor(leaf):
        leaf = torch._C._functorch.get_unwrapped(leaf)
    return bool(torch._C._functorch.is_batchedtensor(leaf))


def paste(old: T, new: T) -> T:
    """Grow heads: copy the leaves of `old` into the corner of the larger ones of `new`."""

    large = named(new)

    def corner(path: str, small: Tensor) -> Tensor:
        if small.shape == large[path].shape:
            return small
        grown = large[path].clone()
        grown[tuple(slice(0, n) for n in small.shape)] = small
        return grown

    return walk(corner, old)


def vectorised(f: Callable[..., Any]) -> Callable[..., Any]:
    """f over trees with a leading axis of runs, by vmap over their leaves."""

    def over_runs(*trees: Any) -> Any:
        shape: list[Any] = []

        def flat(*values: Tensor) -> tuple[Tensor, ...]:
            out = f(*rebuilt(trees, values))
            shape.append(out)
            return tuple(leaves(out))

        stacked = torch.func.vmap(flat)(*leaves(trees))
        return rebuilt(shape[0], stacked)

    return over_runs
