"""How work is cut into programs: all of it, by shapes alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bison_ocl.nets.kernels.tiles import (
    BACKWARD,
    FORWARD,
    FULL,
    LONG,
    MOST_PARTS,
    ROOM,
    STEP,
    TALL,
    WIDTH,
    Slabs,
    Walk,
    block,
    depth,
    forward_walk,
    goes_by_rows,
    gradient_walk,
    length,
    parts_of_gradient,
    power_of_two,
    stages,
    tile,
)

pixels = st.integers(1, 10**6)
channels = st.integers(1, 1024)
runs = st.integers(1, 64)
sides = st.sampled_from([1, 3])
slabs = st.builds(Slabs, runs, pixels, channels, st.sampled_from([FORWARD, BACKWARD]))


def is_power_of_two(n: int) -> bool:
    return n > 0 and n & (n - 1) == 0


@given(st.integers(1, 10**9))
def test_power_of_two_is_the_smallest_that_holds_a_size(size: int) -> None:
    found = power_of_two(size)
    assert is_power_of_two(found)
    assert found >= size
    assert found == 1 or found // 2 < size


@given(channels, st.sampled_from([32, 64, 128]))
def test_blocks_are_powers_of_two_that_matrix_products_take(size: int, most: int) -> None:
    found = block(size, most)
    assert is_power_of_two(found)
    assert 16 <= found <= most
    assert found >= min(size, most)
    assert found == 16 or found // 2 < size


@given(pixels, channels, runs)
def test_tiles_fill_the_gpu_where_they_can(pixels: int, channels: int, runs: int) -> None:
    high, wide = tile(pixels, channels, runs)
    assert is_power_of_two(high)
    assert is_power_of_two(wide)
    assert 16 <= wide <= high <= 128
    programs = -(-pixels // high) * -(-channels // wide) * runs
    assert programs >= 1
    smallest = -(-pixels // 64) * -(-channels // block(channels, 32)) * runs
    assert programs >= min(FULL, smallest)


@given(pixels, st.integers(1, 2000))
def test_parts_cover_all_pixels_in_whole_steps(pixels: int, parts: int) -> None:
    long = length(pixels, parts)
    assert long % STEP == 0
    assert long * parts >= pixels
    assert (long - STEP) * parts < pixels


@given(pixels, channels, channels, sides, runs)
def test_gradients_are_cut_into_parts_none_of_them_empty(
    pixels: int, inputs: int, outputs: int, side: int, runs: int
) -> None:
    parts = parts_of_gradient(pixels, inputs, outputs, side, runs)
    assert parts >= 1
    long = length(pixels, parts)
    assert (parts - 1) * long < pixels <= parts * long
    assert parts == 1 or long >= 4 * STEP


@given(slabs)
def test_slabs_are_covered_and_no_part_of_a_sum_is_empty(cut: Slabs) -> None:
    assert is_power_of_two(cut.width)
    assert 16 <= cut.width <= WIDTH
    assert (cut.columns - 1) * cut.width < cut.channels <= cut.columns * cut.width
    assert cut.parts >= 1
    assert cut.parts <= MOST_PARTS or cut.to_sum >= LONG * cut.block
    assert is_power_of_two(cut.space)
    assert min(cut.parts, MOST_PARTS) <= cut.space <= MOST_PARTS
    assert cut.to_sum % cut.block == cut.to_apply % cut.block == 0
    assert (cut.parts - 1) * cut.to_sum < cut.pixels <= cut.parts * cut.to_sum
    assert cut.to_apply >= cut.block
    assert cut.to_apply <= cut.to_sum


@given(channels, st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_loop_keeps_at_least_one_load_in_flight_and_no_more_than_there_is_room_for(
    channels: int, load: int, room: int
) -> None:
    found = stages(channels, load, room)
    assert 1 <= found <= 3
    assert found == 1 or found * load <= room


def test_loads_of_float32_are_fewer_where_a_gpu_has_little_room() -> None:
    """80 channels of ten seeds in TF32, on an H200 and on a GPU of 99 KiB."""
    load = sum(tile(40 * 8**2, 80, 10)) * 64 * 4
    assert stages(80, load, ROOM) == 3
    assert stages(80, load, 99 * 1024) == 1


@given(channels)
def test_a_product_sums_over_all_of_few_channels_and_parts_of_many(channels: int) -> None:
    found = depth(channels)
    assert is_power_of_two(found)
    assert 16 <= found <= 64
    assert found >= channels or found == 32


def test_products_pad_the_channels_of_a_resnet_least() -> None:
    """As many as a reduced and a whole ResNet-18 have, before what is cut off."""
    padded = {
        channels: -(-channels // depth(channels)) * depth(channels)
        for channels in (40, 80, 160, 64, 128)
    }
    assert padded == {40: 64, 80: 96, 160: 160, 64: 64, 128: 128}


def test_ten_seeds_fill_an_h200() -> None:
    """40 images of 32x32 in a step, in the four stages of a reduced ResNet-18."""
    for stage in range(4):
        pixels, channels = 40 * (32 >> stage) ** 2, 20 << stage
        high, wide = tile(pixels, channels, 10)
        assert -(-pixels // high) * -(-channels // wide) * 10 >= FULL


@given(st.integers(1, 700), st.integers(TALL, 300), st.integers(1, 300), channels)
def test_walks_cover_all_rows_and_columns(
    images: int, height: int, width: int, inputs: int
) -> None:
    for walk in (forward_walk(height, inputs), gradient_walk(height)):
        strips, walks = walk.grid(images, height, width)
        assert is_power_of_two(walk.pixels)
        assert (strips - 1) * walk.pixels < images * width <= strips * walk.pixels
        assert (walks - 1) * walk.rows < height <= walks * walk.rows


def test_a_walk_may_end_in_the_middle() -> None:
    assert Walk(28, 128, 8, 3).grid(3, 57, 50) == (2, 3)


def test_tall_images_with_few_channels_go_by_rows() -> None:
    """The first stage of a reduced ResNet-18 on Mini-ImageNet, but not on CIFAR."""
    assert goes_by_rows(84, 3, 20, side=3, stride=1)
    assert goes_by_rows(84, 20, 20, side=3, stride=1)
    assert not goes_by_rows(84, 20, 40, side=3, stride=2)
    assert not goes_by_rows(84, 20, 20, side=1, stride=1)
    assert not goes_by_rows(84, 64, 64, side=3, stride=1)
    assert not goes_by_rows(32, 20, 20, side=3, stride=1)
