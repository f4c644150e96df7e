"""Draws are functions of (seed, step, name), uniform, and the same in every process."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bison_ocl import rng

MASK = (1 << 64) - 1


def signed(x: int) -> int:
    return x - (1 << 64) if x >> 63 else x


def split_mix(x: int) -> int:
    """SplitMix64's finaliser in unsigned Python integers."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def test_mix_gives_splitmix64s_published_sequence() -> None:
    seed = torch.arange(1, 6) * rng.GOLDEN + 1234567
    published = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert rng.mix(seed).tolist() == [signed(x) for x in published]


@given(st.integers(0, MASK))
def test_mix_equals_unsigned_arithmetic(x: int) -> None:
    assert rng.mix(torch.tensor(signed(x))).item() == signed(split_mix(x))


@given(st.integers(0, MASK), st.integers(1, 63))
def test_unsigned_shift_fills_with_zeros(x: int, by: int) -> None:
    assert rng.unsigned_shift(torch.tensor(signed(x)), by).item() == x >> by


def test_bits_are_a_splitmix64_stream() -> None:
    key = rng.key_of(3, 5, "view")
    golden, start = 0x9E3779B97F4A7C15, key.bits.item() & MASK
    expected = [signed(split_mix((start + i * golden) & MASK)) for i in range(1, 8)]
    assert rng.bits(key, (7,)).tolist() == expected


def test_a_draw_is_a_function_of_seed_step_and_name() -> None:
    def draw(seed: int, step: int, name: str) -> list[float]:
        return rng.uniform(rng.key_of(seed, step, name), (8,)).tolist()

    first = draw(1, 2, "view")
    assert draw(1, 2, "view") == first
    for other in [(2, 2, "view"), (1, 3, "view"), (2, 1, "view"), (1, 2, "store")]:
        assert not set(draw(*other)) & set(first)


def test_names_below_a_key_are_draws_of_their_own() -> None:
    key = rng.key_of(0, 0, "init")
    assert not torch.equal(rng.bits(key.named("a"), (4,)), rng.bits(key.named("b"), (4,)))
    assert not torch.equal(rng.bits(key.named("a"), (4,)), rng.bits(key, (4,)))
    swapped = key.named("b").named("a").bits, key.named("a").named("b").bits
    assert not torch.equal(*swapped)


def test_key_of_plain_numbers_is_the_key_of_tensors() -> None:
    key = rng.key(torch.tensor(7), torch.tensor(11), "view")
    assert torch.equal(key.bits, rng.key_of(7, 11, "view").bits)


def test_golden_values() -> None:
    """A change here changes every result of the package."""
    key = rng.key_of(0, 0, "init")
    assert key.bits.item() == -848189629445492426
    assert rng.bits(key, (2,)).tolist() == [-5658826429994041851, -6472586919802651012]
    assert rng.uniform(rng.key_of(3, 1000, "view"), (3,)).mul(2**24).tolist() == [
        807744,
        10741959,
        4817872,
    ]
    assert rng.permutation(rng.key_of(1, 2, "order"), 8).tolist() == [2, 0, 1, 5, 3, 4, 6, 7]
    assert rng.integers(rng.key_of(1, 2, "store"), 1000, (4,)).tolist() == [492, 632, 922, 730]


def test_another_process_draws_the_same() -> None:
    code = "from bison_ocl import rng; print(rng.key_of(5, 6, 'view').bits.item())"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert int(output) == rng.key_of(5, 6, "view").bits.item()


def p_of_uniform(x: torch.Tensor, bins: int = 64) -> float:
    counts = torch.histc(x.double(), bins=bins, min=0, max=1)
    return float(stats.chisquare(counts.numpy()).pvalue)


@pytest.mark.parametrize("seed", range(3))
def test_uniform_is_uniform(seed: int) -> None:
    assert 1e-4 < p_of_uniform(rng.uniform(rng.key_of(seed, 0, "u"), (100_000,))) < 1 - 1e-4


def test_first_numbers_of_neighbouring_runs_and_steps_are_uniform() -> None:
    """One number each from many keys: what a weak mixing of seed and step would spoil."""
    many = torch.arange(20_000)
    zero = torch.zeros_like(many)
    for key in (rng.key(many, zero, "u"), rng.key(zero, many, "u")):
        first = rng.to_unit(rng.mix(key.bits + rng.GOLDEN))
        assert 1e-4 < p_of_uniform(first) < 1 - 1e-4


@pytest.mark.parametrize("other", [(1, 0, "u"), (0, 1, "u"), (0, 0, "v"), (2**32, 0, "u")])
def test_neighbouring_draws_do_not_correlate(other: tuple[int, int, str]) -> None:
    n = 100_000
    x, y = rng.uniform(rng.key_of(0, 0, "u"), (n,)), rng.uniform(rng.key_of(*other), (n,))
    for shift in range(-2, 3):
        correlation = torch.corrcoef(torch.stack([x, y.roll(shift)]))[0, 1].item()
        assert abs(correlation) < 4.5 / n**0.5


def test_uniform_has_24_bits_and_stays_below_one() -> None:
    extreme = torch.tensor([-1, 0, (1 << 63) - 1, -(1 << 63)])
    expected = [1 - 2.0**-24, 0.0, 0.5 - 2.0**-24, 0.5]
    assert rng.to_unit(extreme).tolist() == expected
    x = rng.uniform(rng.key_of(0, 0, "u"), (1000,))
    assert x.dtype == torch.float32
    assert torch.equal(x.double().float(), x)
    assert torch.equal(x.double() * 2**24, (x.double() * 2**24).round())


def test_uniforms_are_consecutive_pieces_of_one_draw() -> None:
    key = rng.key_of(4, 0, "view")
    together = rng.uniforms(key, {"area": (3, 2), "flip": (4,), "none": (0, 5), "one": ()})
    assert [tuple(x.shape) for x in together.values()] == [(3, 2), (4,), (0, 5), ()]
    pieces = torch.cat([x.flatten() for x in together.values()])
    assert torch.equal(pieces, rng.uniform(key, (11,)))


def test_shape_only_folds_a_draw() -> None:
    key = rng.key_of(0, 3, "u")
    assert torch.equal(rng.uniform(key, (2, 3)).flatten(), rng.uniform(key, (6,)))


@pytest.mark.parametrize("high", [1, 2, 10, 1000, 2**40, 2**62])
def test_integers_lie_in_range(high: int) -> None:
    drawn = rng.integers(rng.key_of(0, 0, "i"), high, (5000,))
    assert drawn.dtype == torch.int64
    assert drawn.min() >= 0
    assert drawn.max() < high


@pytest.mark.parametrize("high", [7, 50_000, 2**40, 3 * 2**40])
def test_integers_are_uniform(high: int) -> None:
    drawn = rng.integers(rng.key_of(1, 0, "i"), high, (70_000,))
    bins = 7
    counts = torch.bincount((drawn.double() / high * bins).long(), minlength=bins)
    assert 1e-4 < stats.chisquare(counts.numpy()).pvalue < 1 - 1e-4


def test_integers_take_a_bound_for_each_draw() -> None:
    high = torch.tensor([1, 5, 2**40])
    drawn = rng.integers(rng.key_of(0, 0, "i"), high, (3,))
    plain = rng.integers(rng.key_of(0, 0, "i"), 2**62, (3,))
    assert (drawn < high).all()
    assert drawn[0] == 0
    assert drawn.shape == plain.shape


@pytest.mark.parametrize("n", [0, 1, 2, 100])
def test_permutation_is_one(n: int) -> None:
    assert sorted(rng.permutation(rng.key_of(0, 0, "p"), n).tolist()) == list(range(n))


def test_permutations_are_equally_likely() -> None:
    found = [tuple(rng.permutation(rng.key_of(s, 0, "p"), 3).tolist()) for s in range(1200)]
    counts = [found.count(order) for order in set(found)]
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 1e-4


def test_rows_do_not_depend_on_how_many_there_are() -> None:
    key = rng.key_of(0, 0, "head")
    few, many = rng.rows(key, 3, 5), rng.rows(key, 100, 5)
    assert torch.equal(few, many[:3])
    assert len(many.unique()) > 490
    assert 1e-4 < p_of_uniform(rng.rows(key, 300, 300).flatten()) < 1 - 1e-4


def test_draws_under_vmap_equal_a_loop() -> None:
    seeds, steps = torch.tensor([0, 1, 7]), torch.tensor([4, 4, 4])

    def draw(seed: torch.Tensor, step: torch.Tensor) -> tuple[torch.Tensor, ...]:
        key = rng.key(seed, step, "view")
        return (
            rng.uniform(key, (3, 2)),
            rng.integers(key, seed + 5, (6,)),
            rng.permutation(key, 9),
            rng.rows(key, 4, 2),
            *rng.uniforms(key, {"a": (2,), "b": (1, 3)}).values(),
        )

    together = torch.func.vmap(draw)(seeds, steps)
    alone = [draw(seed, step) for seed, step in zip(seeds, steps, strict=True)]
    for stacked, column in zip(together, zip(*alone, strict=True), strict=True):
        assert torch.equal(stacked, torch.stack(column))
