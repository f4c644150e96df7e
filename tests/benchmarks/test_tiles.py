"""Other ways of cutting kernels are timed as they are meant, and leave no trace."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import pytest

if find_spec("triton") is None:
    pytest.skip("Triton is not installed", allow_module_level=True)

from benchmarks import tiles

from bison_ocl.nets.kernels import convolution_kernels as convolutions


def test_kernels_are_cut_as_asked_and_then_as_before() -> None:
    before = convolutions.tile(10_000, 20, 10)
    with tiles.cut({"tile": (256, 16), "width": 64}):
        assert convolutions.tile(10_000, 20, 10) == (256, 16)
        assert tiles.tiles.WIDTH == 64
    assert convolutions.tile(10_000, 20, 10) == before
    assert tiles.tiles.WIDTH == 32


def test_every_kernel_of_every_layer_is_timed_and_the_best_come_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def by_tile(work: Callable[[], object]) -> float:
        high, wide = convolutions.tile(10_000, 20, 10)
        if high == 256:
            raise RuntimeError("out of resource: shared memory")
        return float(high + wide)

    monkeypatch.setattr(tiles, "DEVICE", "meta")
    monkeypatch.setattr(tiles, "microseconds", by_tile)
    found = list(tiles.rows(runs=2))
    times = {kernel: 0 for kernel in tiles.WAYS}
    for row in found:
        times[row["kernel"]] += row["in_a_step"]
    assert times == dict.fromkeys(tiles.WAYS, 20) | {"image_gradient": 19}
    row = next(row for row in found if row["kernel"] == "convolve")
    assert row["ways"] == 12
    assert [us for us, _ in row["best"]] == [96.0, 96.0, 128.0]
    assert row["best"][0][1] == {"tile": [64, 32], "stages": 1}
    assert row["chosen_us"] == sum(convolutions.tile(10_000, 20, 10))


def test_other_failures_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(work: Callable[[], object]) -> float:
        raise RuntimeError("illegal address")

    monkeypatch.setattr(tiles, "microseconds", fail)
    with pytest.raises(RuntimeError, match="illegal address"):
        tiles.timed(list, {})
