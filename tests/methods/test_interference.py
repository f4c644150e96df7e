"""Candidates for replay, their ranking, and the size of a gradient in a linear head."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from bison_ocl.batch import Batch
from bison_ocl.memory.memory import Memory, Write, empty
from bison_ocl.methods.dvc import gradient_size
from bison_ocl.methods.mir import candidates, largest
from bison_ocl.rng import key_of

NONE = torch.zeros(4, dtype=torch.bool)


def holding(labels: list[int], capacity: int, rubbish: int = -5) -> Memory:
    """A memory of the given labels, with a wrong label in every row that is empty."""
    memory = empty(capacity, (1, 1, 1), {}, torch.device("cpu"))
    memory.y.fill_(rubbish)
    n = len(labels)
    new = Batch(torch.zeros((n, 1, 1, 1), dtype=torch.uint8), torch.tensor(labels))
    return memory.write(new, Write(torch.arange(n), torch.tensor(n)))


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=12),
    st.integers(0, 5),
    st.sets(st.integers(0, 3)),
    st.integers(0, 99),
    st.sampled_from([-5, 0, 10**6]),
)
def test_candidates_are_distinct_in_use_and_avoided_last(
    labels: list[int], free: int, avoided: set[int], seed: int, rubbish: int
) -> None:
    memory = holding(labels, len(labels) + free, rubbish)
    mask = torch.tensor([c in avoided for c in range(4)])
    n = (len(labels) + 1) // 2
    slots = candidates(key_of(seed, 0, "retrieve"), memory, n, mask).tolist()
    assert len(set(slots)) == n
    assert max(slots) < len(labels)
    others = sum(label not in avoided for label in labels)
    assert sum(labels[slot] not in avoided for slot in slots) == min(n, others)


def test_nothing_avoided_is_the_memory_s_own_draw() -> None:
    memory = holding([0, 1, 2, 3, 0, 1, 2], 9)
    for seed in range(20):
        key = key_of(seed, 0, "retrieve")
        assert torch.equal(candidates(key, memory, 4, NONE), memory.draw(key, 4))


@given(
    st.lists(st.tuples(st.floats(-9, 9), st.booleans()), min_size=1, max_size=20),
    st.integers(1, 12),
)
def test_largest_equals_a_plain_sort(pairs: list[tuple[float, bool]], n: int) -> None:
    harm, avoided = (torch.tensor(column) for column in zip(*pairs, strict=True))
    values = harm.tolist()
    order = sorted(range(len(pairs)), key=lambda i: (pairs[i][1], 0 if pairs[i][1] else -values[i]))
    assert largest(harm, n, avoided).tolist() == order[:n]


def test_known_gradient_sizes() -> None:
    y, both = torch.tensor([0]), torch.ones(2, dtype=torch.bool)
    before = gradient_size(torch.tensor([[0.5, 1]]), torch.tensor([[1.0, 0]]), y, both)
    after = gradient_size(torch.tensor([[0.5, 2]]), torch.tensor([[0.0, 1]]), y, both)
    assert before.item() == pytest.approx(0.8068242, abs=5e-7)
    assert after.item() == pytest.approx(3.6552930, abs=5e-7)
    assert (after - before).item() == pytest.approx(2.8484688, abs=5e-7)


def test_gradient_size_is_the_l1_norm_of_the_gradient_in_the_weights() -> None:
    generator = torch.Generator().manual_seed(0)
    w = torch.randn(4, 5, dtype=torch.float64, generator=generator, requires_grad=True)
    z = torch.randn(6, 5, dtype=torch.float64, generator=generator)
    y, every = torch.tensor([0, 1, 2, 3, 3, 1]), torch.ones(4, dtype=torch.bool)
    sizes = gradient_size(z, F.linear(z, w.detach()), y, every)
    for i in range(6):
        (grad,) = torch.autograd.grad(F.cross_entropy(z[i] @ w.T, y[i]), w)
        torch.testing.assert_close(sizes[i], grad.abs().sum())


def test_gradient_size_ignores_classes_outside_the_set() -> None:
    z, logits = torch.rand(3, 5), torch.rand(3, 4)
    y, some = torch.tensor([0, 2, 0]), torch.tensor([True, False, True, False])
    small = gradient_size(z, logits[:, some], torch.tensor([0, 1, 0]), some[some])
    torch.testing.assert_close(gradient_size(z, logits, y, some), small)
