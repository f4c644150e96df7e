"""Every usual form of the same images is learned as the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from torch import Tensor

from tests.learners import everything, herd, new
from tests.tiny import same


@pytest.mark.parametrize(
    "form",
    [
        lambda x: x.numpy(),
        lambda x: x.permute(0, 2, 3, 1),
        lambda x: x.permute(0, 2, 3, 1).numpy(),
        lambda x: x.float() / 255,
        lambda x: x.double() / 255,
        lambda x: (x.float() / 255).numpy(),
        lambda x: (x.float() / 255).numpy().astype(">f4"),
        lambda x: x.permute(0, 2, 3, 1).numpy()[::-1][::-1],
        lambda x: x.tolist() and [image.numpy() for image in x],
    ],
)
def test_every_form_of_the_same_images_is_the_same(form: Callable[[Tensor], Any]) -> None:
    x, y = herd(30)
    plain, other = new(), new()
    plain.observe(x, y)
    other.observe(form(x), y)
    assert same(everything(plain), everything(other))
    assert plain.predict(x) == other.predict(form(x))


def test_grey_images_count_as_three_equal_channels() -> None:
    x, y = herd(20)
    grey = x[:, :1]
    learners = [new() for _ in range(3)]
    for learner, form in zip(
        learners, (grey.repeat(1, 3, 1, 1), grey, grey.permute(0, 2, 3, 1).numpy()), strict=True
    ):
        learner.observe(form, y)
    assert same(everything(learners[0]), everything(learners[1]))
    assert same(everything(learners[0]), everything(learners[2]))
