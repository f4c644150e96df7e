"""The joint head on the logits of two views."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from bison_ocl.nets.joint import Joint
from bison_ocl.rng import key_of
from tests.tiny import size

KEY = key_of(0, 0, "init")


def test_is_two_layers_on_both_logits_side_by_side() -> None:
    params = {name: value.double() for name, value in Joint(5).parameters(KEY, 4, 7).items()}
    module = nn.Sequential(nn.Linear(8, 128), nn.ReLU(), nn.Linear(128, 4)).double()
    module.load_state_dict(
        {
            "0.weight": params["first.weight"].flatten(0, 1).T,
            "0.bias": params["first.bias"],
            "2.weight": params["weight"],
            "2.bias": params["bias"],
        }
    )
    z = torch.randn(2, 6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(Joint(5)(params, z), module(torch.cat([*z], dim=1)))


@pytest.mark.parametrize(("classes", "total"), [(10, 3978), (100, 38628)])
def test_known_number_of_parameters(classes: int, total: int) -> None:
    assert size(Joint(classes).parameters(KEY, classes, 160)) == total


def test_no_row_moves_when_classes_are_added() -> None:
    few, many = (Joint(10).parameters(KEY, classes, 160) for classes in (4, 8))
    assert few["first.weight"].shape == (2, 4, 128)
    assert torch.equal(few["first.weight"], many["first.weight"][:, :4])
    assert torch.equal(few["first.bias"], many["first.bias"])
    for name in ("weight", "bias"):
        assert torch.equal(few[name], many[name][:4])


def test_starts_as_pytorch_would() -> None:
    params = Joint(10).parameters(KEY, 10, 160)
    for name, value in params.items():
        bound = (20 if name.startswith("first") else 128) ** -0.5
        assert 0.7 * bound < value.abs().max() <= bound
        assert value.abs().mean().item() == pytest.approx(bound / 2, rel=0.35)
    assert not torch.equal(*params["first.weight"])
