"""Heads: logits, scales, how rows are drawn."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bison_ocl.nets.heads import Cosine, Head, Linear, LinearProjection, Projection, cosine, unit
from bison_ocl.rng import key_of

KEY = key_of(0, 0, "init")
W = torch.tensor([[1.0, 0], [0, 1], [1, 1]], dtype=torch.float64)
Z = torch.tensor([[3.0, 4]], dtype=torch.float64)


def test_cosine_of_every_pair() -> None:
    expected = torch.tensor([[0.6, 0.8, 0.989949]], dtype=torch.float64)
    torch.testing.assert_close(cosine(Z, W), expected, rtol=0, atol=5e-7)


@pytest.mark.parametrize(("eta", "ce"), [(1, 1.107876), (2, 1.141818), (10, 2.056410)])
def test_cross_entropy_of_a_cosine_head(eta: float, ce: float) -> None:
    params = {"weight": W, "scale": torch.tensor(eta, dtype=torch.float64)}
    loss = F.cross_entropy(Cosine()(params, Z), torch.tensor([1]))
    assert loss.item() == pytest.approx(ce, abs=5e-7)


def test_cosine_head_is_blind_to_lengths() -> None:
    params = {"weight": W, "scale": torch.tensor(2.0, dtype=torch.float64)}
    longer = {**params, "weight": W * torch.tensor([[5.0], [0.1], [7]])}
    torch.testing.assert_close(Cosine()(params, Z), Cosine()(longer, 9 * Z))


def test_the_scale_is_a_trained_parameter() -> None:
    params = {name: value.double() for name, value in Cosine(3.0).parameters(KEY, 3, 2).items()}
    params["scale"].requires_grad_()
    assert params["scale"].shape == ()
    assert params["scale"] == 3
    Cosine(3.0)(params, Z).sum().backward()
    torch.testing.assert_close(params["scale"].grad, cosine(Z, params["weight"]).sum())


def test_a_fixed_scale_is_no_parameter() -> None:
    head = Cosine(10.0, trained=False)
    params = head.parameters(KEY, 3, 2)
    assert params.keys() == {"weight"}
    assert torch.equal(params["weight"], Cosine().parameters(KEY, 3, 2)["weight"])
    torch.testing.assert_close(head({"weight": W}, Z), 10 * cosine(Z, W))


def test_unit_rows_and_the_zero_row() -> None:
    x = torch.tensor([[3.0, 4], [0, 0], [0, -2]], dtype=torch.float64, requires_grad=True)
    assert unit(x).tolist() == [[0.6, 0.8], [0, 0], [0, -1]]
    unit(x).sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_linear_is_nn_linear() -> None:
    module = nn.Linear(2, 3).double()
    params = {"weight": module.weight, "bias": module.bias}
    torch.testing.assert_close(Linear()(params, Z), module(Z))


def test_projection_is_two_layers_with_a_relu() -> None:
    head = Projection(5)
    params = {name: value.double() for name, value in head.parameters(KEY, 10, 2).items()}
    first, second = nn.Linear(2, 2).double(), nn.Linear(2, 5).double()
    first.load_state_dict({"weight": params["first.weight"], "bias": params["first.bias"]})
    second.load_state_dict({"weight": params["second.weight"], "bias": params["second.bias"]})
    torch.testing.assert_close(head(params, Z), second(F.relu(first(Z))))


def test_projection_shapes_and_bounds() -> None:
    params = Projection().parameters(KEY, 10, 160)
    shapes = {name: tuple(value.shape) for name, value in params.items()}
    assert shapes == {
        "first.weight": (160, 160),
        "first.bias": (160,),
        "second.weight": (128, 160),
        "second.bias": (128,),
    }
    assert all(0.9 * 160**-0.5 < p.abs().max() <= 160**-0.5 for p in params.values())


@pytest.mark.parametrize("head", [Linear(), Cosine()])
def test_rows_do_not_move_when_classes_are_added(head: Head) -> None:
    few, many = head.parameters(KEY, 3, 16), head.parameters(KEY, 7, 16)
    for name, value in few.items():
        assert torch.equal(value, many[name] if value.ndim == 0 else many[name][:3])
    assert not torch.equal(many["weight"][:3], many["weight"][3:6])


@pytest.mark.parametrize("head", [Linear(), Cosine()])
def test_rows_start_uniform_in_fan_in_bounds(head: Head) -> None:
    params = head.parameters(KEY, 100, 160)
    rows: list[Tensor] = [value for value in params.values() if value.ndim]
    assert all(0.95 * 0.0790569 < value.abs().max() <= 0.0790570 for value in rows)
    assert params["weight"].norm(dim=1).mean().item() == pytest.approx(0.577, abs=0.005)


def test_heads_of_other_names_start_elsewhere() -> None:
    one, other = (Cosine().parameters(KEY.named(n), 4, 6)["weight"] for n in ("stream", "buffer"))
    assert not torch.equal(one, other)


def test_linear_projection_is_one_layer() -> None:
    head = LinearProjection(5)
    params = {name: value.double() for name, value in head.parameters(KEY, 10, 7).items()}
    module = nn.Linear(7, 5).double()
    module.load_state_dict(params)
    z = torch.arange(14, dtype=torch.float64).reshape(2, 7)
    torch.testing.assert_close(head(params, z), module(z))


@pytest.mark.parametrize(("features", "width"), [(160, 128), (8, 8)])
def test_linear_projection_is_no_wider_than_the_features(features: int, width: int) -> None:
    params = LinearProjection().parameters(KEY, 10, features)
    assert params["weight"].shape == (width, features)
    assert params["bias"].shape == (width,)
    assert all(0.5 * features**-0.5 < p.abs().max() <= features**-0.5 for p in params.values())
