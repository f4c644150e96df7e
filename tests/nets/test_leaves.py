"""All leaves of stacked runs: are they finite, restored where a run is not, averaged."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from bison_ocl.nets.kernels.leaves import averaged, finite, restored

each_device = pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda",
            marks=[
                pytest.mark.gpu,
                pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here"),
            ],
        ),
    ],
)
Leaves = dict[str, Tensor]


def stacked(device: str, value: float) -> Leaves:
    """Two runs: floats of several shapes, a counter, and a leaf that is no multiple of a word."""
    return {
        "matrix": torch.full((2, 3, 5), value, device=device),
        "number": torch.full((2,), value, device=device),
        "count": torch.full((2,), int(value), device=device),
        "flag": torch.full((2, 3), value > 1, device=device),
    }


@each_device
def test_finite_is_said_of_each_run(device: str) -> None:
    values = stacked(device, 1.0)
    like = values["number"]
    assert finite(values, like).tolist() == [True, True]
    values["matrix"][1, 2, 4] = torch.nan
    assert finite(values, like).tolist() == [True, False]
    alone = {name: leaf[1].clone() for name, leaf in values.items()}
    assert finite(alone, alone["number"]).tolist() is False


@each_device
def test_refused_runs_are_as_before(device: str) -> None:
    found = restored(
        torch.tensor([True, False], device=device), stacked(device, 2.0), stacked(device, 1.0)
    )
    for name, leaf in found.items():
        expected = [stacked("cpu", value)[name][0] for value in (2.0, 1.0)]
        assert torch.equal(leaf.cpu(), torch.stack(expected)), name


@each_device
def test_leaves_that_share_memory_are_restored_each_to_its_own(device: str) -> None:
    """A method may keep the network before or after a step among its extras."""
    net, ahead, older = (torch.full((2, 4), value, device=device) for value in (1.0, 2.0, 0.0))
    before = {"net": net, "same": older, "previous": older.clone(), "kept": older}
    made = {"net": ahead, "same": ahead, "previous": net, "kept": older}
    found = restored(torch.tensor([True, False], device=device), made, before)
    first = {name: leaf[:, 0].tolist() for name, leaf in found.items()}
    assert first == {"net": [2, 1], "same": [2, 0], "previous": [1, 0], "kept": [0, 0]}
    assert net[:, 0].tolist() == [1, 1]


@each_device
def test_the_average_moves_by_the_weight_of_its_run(device: str) -> None:
    values = stacked(device, 3.0)
    old = torch.ones((2, 16), device=device)
    moved = averaged(old, values, torch.tensor([0.5, 0.0], device=device))
    assert moved.tolist() == [[2.0] * 16, [1.0] * 16]
    alone = {name: leaf[0].clone() for name, leaf in values.items()}
    assert averaged(old[0], alone, torch.tensor(0.5, device=device)).tolist() == [2.0] * 16
