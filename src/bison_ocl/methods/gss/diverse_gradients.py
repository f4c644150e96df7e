"""Gradient-based sample selection: a memory whose gradients point in many directions.

Aljundi et al. 2019, "Gradient based sample selection for online continual learning", Alg. 2.
A row's score is the largest cosine between its gradient and those of random batches of the memory.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl.memory.memory import Memory, Write
from bison_ocl.rng import Key, uniform


def append(memory: Memory, scores: Tensor) -> Write:
    """Write items to the free rows in order; drop the rest."""
    order = torch.arange(len(scores), device=scores.device)
    slots = (memory.seen + order).clamp(max=memory.capacity)
    return Write(slots, memory.seen + len(scores), {"score": scores})


def exchange(key: Key, memory: Memory, scores: Tensor, useful: Tensor) -> Write:
    """Items against rows with high scores, by chance, if the batch is `useful` (a boolean []).

    Item i replaces its victim v with probability (s_v + 1) / ((s_v + 1) + (s_i + 1)).
    """
    n = min(len(scores), memory.capacity)
    held = memory.fields["score"][: memory.capacity]
    slots = victims(key.named("victims"), held, n)
    wins = uniform(key.named("exchange"), (n,)) < odds(held[slots], scores[:n])
    slots = slots.masked_fill(~(wins & useful & memory.used[-1]), memory.capacity)
    rest = slots.new_full((len(scores) - n,), memory.capacity)
    slots = memory.free_first(torch.cat([slots, rest]))
    return Write(slots, memory.seen + len(scores), {"score": scores})


def odds(held: Tensor, new: Tensor) -> Tensor:
    """How likely an item replaces a row, from their scores in [−1, 1]."""
    return (held + 1) / (held + 1 + new + 1)


def weights(scores: Tensor) -> Tensor:
    """The weight of each row as a victim; zero for the row with the lowest score."""
    low, high = scores.amin(), scores.amax()
    return (scores - low) / (high - low + 0.01)


def victims(key: Key, scores: Tensor, n: int) -> Tensor:
    """n distinct rows drawn by their weights, or uniformly where fewer than n have one.

    A race of exponential clocks: the first n to ring are a draw without replacement.
    """
    weight = weights(scores)
    eligible = weight > 0
    too_few = eligible.sum() < n
    clock = -torch.log1p(-uniform(key, tuple(scores.shape)).to(weight.dtype))
    rate = torch.where(too_few, torch.ones_like(weight), weight)
    times = (clock / rate).masked_fill(~(eligible | too_few), float("inf"))
    return times.topk(n, largest=False).indices
