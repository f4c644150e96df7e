"""The whole augmentation against a loop over images, its shares, and what the engine asks of it."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kornia.color import rgb_to_grayscale
from kornia.enhance import (
    adjust_brightness_accumulative,
    adjust_contrast_with_mean_subtraction,
    adjust_hue,
    adjust_saturation_with_gray_subtraction,
)
from kornia.geometry.transform import hflip
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.functional import interpolate

from bison_ocl.rng import Key, key_of, uniforms
from bison_ocl.views.augment import augment, draws
from bison_ocl.views.crop import random_box

BLENDS = [
    adjust_brightness_accumulative,
    adjust_contrast_with_mean_subtraction,
    adjust_saturation_with_gray_subtraction,
]


def images(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    return torch.rand(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def naive(x: Tensor, u: dict[str, Tensor]) -> Tensor:
    """One image, [1, 3, H, W], step by step."""
    height, width = x.shape[-2:]
    box = random_box(u["area"], u["aspect"], u["top"], u["left"], (height, width), 0.2)
    i, j, h, w = (int(side) for side in (box.top, box.left, box.height, box.width))
    x = interpolate(x[:, :, i : i + h, j : j + w], size=(height, width), mode="bilinear")
    if u["flip"] < 0.5:
        x = hflip(x)
    if u["jitter"] < 0.8:
        factors, turns = 0.6 + 0.8 * u["factor"].flatten(), 0.2 * u["turns"].flatten() - 0.1
        order = u["order"].flatten().tolist()
        for operation in sorted(range(4), key=lambda k: order[k]):
            if operation == 3:
                x = adjust_hue(x, 2 * math.pi * turns.double())
            else:
                x = BLENDS[operation](x, factors[operation])
    return rgb_to_grayscale(x).expand_as(x) if u["grey"] < 0.2 else x


def of_image(name: str, draw: Tensor, i: int) -> Tensor:
    """The part of a draw that belongs to image i."""
    return draw[:, i : i + 1] if name in ("factor", "order") else draw[i : i + 1]


@pytest.mark.parametrize("size", [(32, 32), (84, 84), (12, 40)])
def test_augment_is_a_loop_over_images(size: tuple[int, int]) -> None:
    n, key = 40, key_of(1, 2, "augment")
    x, u = images(n, 3, *size), uniforms(key, draws(n))
    parts = [{name: of_image(name, draw, i) for name, draw in u.items()} for i in range(n)]
    expected = torch.cat([naive(x[i : i + 1], part) for i, part in enumerate(parts)])
    # kornia adds 1e-8 to the value it divides by when it turns the hue.
    torch.testing.assert_close(augment(key, x), expected, rtol=0, atol=1e-6)


def test_every_image_has_its_own_draw() -> None:
    views = augment(key_of(0, 0, "augment"), images(1, 3, 16, 16).expand(30, -1, -1, -1)).flatten(1)
    differences = (views[:, None] - views).abs().amax(dim=-1)
    assert (differences + torch.eye(30) > 1e-3).all()


def test_views_depend_on_the_key_alone() -> None:
    x = images(10, 3, 8, 8)
    view = augment(key_of(0, 0, "augment"), x)
    assert view.equal(augment(key_of(0, 0, "augment"), x))
    assert not view.equal(augment(key_of(0, 1, "augment"), x))
    assert not view.equal(augment(key_of(1, 0, "augment"), x))


def test_shares_of_colour_changes() -> None:
    n = 20_000
    # Crop and flip leave an image of one colour as it is.
    x = torch.rand(3, 1, 1, generator=torch.Generator().manual_seed(0)).expand(n, 3, 2, 2)
    view = augment(key_of(0, 0, "augment"), x)
    is_grey = (view[:, 0] == view[:, 2]).all(dim=(1, 2))
    unchanged = (view == x).all(dim=(1, 2, 3))
    assert is_grey.float().mean() == pytest.approx(0.2, abs=0.01)
    assert unchanged.float().mean() == pytest.approx(0.16, abs=0.01)
    assert unchanged[~is_grey].float().mean() == pytest.approx(0.2, abs=0.01)


def test_share_of_flips() -> None:
    n = 2000
    ramp = torch.linspace(0.1, 0.6, 16).expand(n, 3, 16, 16)
    view = augment(key_of(0, 0, "augment"), ramp)
    flipped = view[..., 0].mean(dim=(1, 2)) > view[..., -1].mean(dim=(1, 2))
    assert flipped.float().mean() == pytest.approx(0.5, abs=0.04)


def test_strength_of_jitter() -> None:
    n = 5000
    # Neither contrast, saturation nor hue changes an image of one grey: brightness remains.
    view = augment(key_of(0, 0, "augment"), torch.full((n, 3, 2, 2), 0.5))[:, 0, 0, 0] / 0.5
    assert 0.6 <= view.min() < 0.605
    assert 1.395 < view.max() <= 1.4
    changed = view[(view - 1).abs() > 1e-6]
    assert changed.mean() == pytest.approx(1, abs=0.02)
    assert changed.var() == pytest.approx(0.8**2 / 12, abs=0.003)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    height=st.integers(1, 40),
    width=st.integers(1, 40),
    dtype=st.sampled_from([torch.float64, torch.float32, torch.bfloat16, torch.float16]),
)
def test_views_are_images(seed: int, height: int, width: int, dtype: torch.dtype) -> None:
    x = images(4, 3, height, width, seed=seed)
    x[0], x[1], x[2] = x[0].round(), 1, 0
    x = x.to(dtype)
    kept = x.clone()
    view = augment(key_of(seed, 0, "augment"), x)
    assert view.shape == x.shape
    assert view.dtype == dtype
    assert view.min() >= 0
    assert view.max() <= 1
    assert x.equal(kept)


def test_dtypes_agree() -> None:
    key, x = key_of(3, 0, "augment"), images(100, 3, 32, 32, dtype=torch.float32)
    single = augment(key, x)
    torch.testing.assert_close(single.double(), augment(key, x.double()), rtol=0, atol=2e-5)
    for dtype in (torch.bfloat16, torch.float16):
        low = x.to(dtype)
        assert augment(key, low).equal(augment(key, low.float()).to(dtype))


def test_vmap_over_runs_is_a_loop() -> None:
    runs = 3
    x = images(runs, 8, 3, 32, 32)
    bits = torch.stack([key_of(run, 5, "augment").bits for run in range(runs)])
    together = torch.func.vmap(lambda b, image: augment(Key(b), image))(bits, x)
    alone = torch.stack([augment(Key(b), image) for b, image in zip(bits, x, strict=True)])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)


def test_runs_that_share_images_have_their_own_views() -> None:
    x = images(8, 3, 16, 16)
    bits = torch.stack([key_of(run, 5, "augment").bits for run in range(2)])
    views = torch.func.vmap(lambda b: augment(Key(b), x))(bits)
    alone = torch.stack([augment(Key(b), x) for b in bits])
    torch.testing.assert_close(views, alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("over_runs", [False, True])
def test_step_has_no_constant_and_no_host_read(over_runs: bool) -> None:
    x, bits = images(2, 4, 3, 16, 16), torch.stack([key_of(run, 0, "a").bits for run in range(2)])

    def step(b: Tensor, image: Tensor) -> Tensor:
        return augment(Key(b), image)

    inputs = (bits, x) if over_runs else (bits[0], x[0])
    function = torch.func.vmap(step) if over_runs else step
    traced = make_fx(function, tracing_mode="fake")(*inputs)
    names = " ".join(str(node.target) for node in traced.graph.nodes)
    assert "lift_fresh" not in names
    assert "_local_scalar_dense" not in names
    assert all(node.op != "get_attr" for node in traced.graph.nodes)
    torch.testing.assert_close(traced(*inputs), function(*inputs))


def test_step_makes_no_tensor_on_another_device() -> None:
    bits, x = (
        torch.empty(2, dtype=torch.int64, device="meta"),
        torch.empty(2, 4, 3, 8, 8).to("meta"),
    )
    traced = make_fx(torch.func.vmap(lambda b, image: augment(Key(b), image)))(bits, x)
    values = [node.meta.get("val") for node in traced.graph.nodes]
    tensors = [value for value in values if isinstance(value, Tensor)]
    assert len(tensors) > 100
    assert {tensor.device.type for tensor in tensors} == {"meta"}
