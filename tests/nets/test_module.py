"""A user's nn.Module as a backbone: same numbers, never changed, safe in threads."""

from __future__ import annotations

import copy
import threading

import pytest
import torch
from torch import Tensor, nn

from bison_ocl import Learner
from bison_ocl.errors import UserError
from bison_ocl.nets.module import ModuleBackbone
from bison_ocl.nets.norm import Mode
from bison_ocl.rng import key_of
from tests.tiny import images, same, snapshot

SHAPE = (3, 8, 8)
X = torch.rand(6, *SHAPE, generator=torch.Generator().manual_seed(0))


def module() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
        )


def start(backbone: ModuleBackbone) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    params = backbone.parameters(key_of(0, 0, "init"))
    return params, backbone.statistics(params)


def test_features_and_starting_weights_are_the_modules() -> None:
    net = module()
    backbone = ModuleBackbone(net, SHAPE)
    params, stats = start(backbone)
    assert backbone.features == 5
    assert same(params, snapshot(dict(net.named_parameters())))
    assert same(stats, snapshot(dict(net.named_buffers())))


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_passes_equal_the_modules_own(mode: Mode) -> None:
    net = module()
    backbone = ModuleBackbone(net, SHAPE)
    params, stats = start(backbone)
    before = snapshot([params, stats][0] | stats)
    z, moved = backbone(params, stats, X, mode)
    own = copy.deepcopy(net).train(mode == "train")
    assert torch.equal(z, own(X))
    assert same(moved, snapshot(dict(own.named_buffers())))
    assert same(snapshot(params | stats), before)


def test_the_module_itself_is_never_changed() -> None:
    net = module().eval()
    before = snapshot(net.state_dict())
    backbone = ModuleBackbone(net, SHAPE)
    params, stats = start(backbone)
    for value in params.values():
        value.zero_()
    backbone(params, stats, X, "train")
    assert same(snapshot(net.state_dict()), before)
    assert not net.training


def test_later_changes_of_the_module_do_not_reach_the_backbone() -> None:
    net = module()
    backbone = ModuleBackbone(net, SHAPE)
    wanted = snapshot(dict(net.named_parameters()))
    with torch.no_grad():
        for value in net.parameters():
            value.zero_()
    assert same(snapshot(start(backbone)[0]), wanted)


def test_gradients_flow_to_the_parameters_given() -> None:
    backbone = ModuleBackbone(module(), SHAPE)
    params, stats = start(backbone)
    params = {name: value.requires_grad_() for name, value in params.items()}
    z, _ = backbone(params, stats, X, "train")
    grads = torch.autograd.grad(z.square().sum(), list(params.values()))
    assert all(grad.abs().sum() > 0 for grad in grads[1:])


def test_threads_do_not_see_each_others_mode() -> None:
    backbone = ModuleBackbone(module(), SHAPE)
    params, stats = start(backbone)
    modes: list[Mode] = ["train", "eval"]
    wanted = {mode: backbone(params, stats, X, mode)[0] for mode in modes}
    wrong: list[str] = []

    def work(mode: Mode) -> None:
        for _ in range(100):
            if not torch.equal(backbone(params, stats, X, mode)[0], wanted[mode]):
                wrong.append(mode)

    threads = [threading.Thread(target=work, args=(mode,)) for mode in modes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert not torch.equal(wanted["train"], wanted["eval"])


def test_modules_that_return_no_feature_vectors_are_refused() -> None:
    with pytest.raises(UserError, match=r"must return features \[B, d\], not \[2, 5, 6, 6\]"):
        ModuleBackbone(nn.Conv2d(3, 5, 3), SHAPE)


def test_frozen_parameters_are_kept_and_not_trained() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Linear(12, 5), nn.ReLU(), nn.Linear(5, 4))
    module[1].requires_grad_(False)
    backbone = ModuleBackbone(module, (3, 2, 2))
    params = backbone.parameters(key_of(0, 0, "init"))
    assert set(params) == {"3.weight", "3.bias"}
    stats = backbone.statistics(params)
    assert torch.equal(stats["1.weight"], module[1].weight)
    x = torch.rand(3, 3, 2, 2)
    z, moved = backbone(params, stats, x, "train")
    assert torch.allclose(z, module(x))
    assert torch.equal(moved["1.weight"], module[1].weight)


class Nothing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1)[:, :0]


class Reshaped(nn.Module):
    """Made for images of another size, as by `x.view(-1, 6)`."""

    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(-1, 6)


class Cast(nn.Module):
    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1).to(self.dtype)


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (nn.Linear(7, 2), "cannot take images"),
        (nn.Conv2d(3, 2, 1), r"must return features \[B, d\]"),
        (nn.Sequential(nn.Conv2d(3, 2, 1), Nothing()), r"not \[2, 0\]"),
        (nn.LSTM(2, 3), "cannot take images|must return features"),
        (Reshaped(), r"not \[4, 6\] for B = 2"),
        (Cast(torch.bfloat16), "float32, not torch.bfloat16"),
        (Cast(torch.int64), "float32, not torch.int64"),
        (nn.DataParallel(nn.Flatten()), "cannot take images .*DataParallel"),
    ],
)
def test_a_misfit_is_told_in_one_line(module: nn.Module, why: str) -> None:
    with pytest.raises(UserError, match=why):
        ModuleBackbone(module, (3, 2, 2))


def test_a_frozen_module_runs_in_eval_mode_and_copies_nothing() -> None:
    net = module().requires_grad_(False)
    backbone = ModuleBackbone(net, SHAPE)
    params, stats = start(backbone)
    assert (backbone.frozen, params) == (True, {})
    assert stats.keys() == net.state_dict().keys()
    z, after = backbone(params, stats, X, "train")
    assert torch.equal(z, net.eval()(X))
    assert after is stats


@pytest.mark.parametrize("frozen", [False, True])
def test_images_are_normalised_by_the_callers_numbers(frozen: bool) -> None:
    net, normalise = module().requires_grad_(not frozen), ((0.1, 0.2, 0.3), (0.5, 0.6, 0.7))
    backbone = ModuleBackbone(net, SHAPE, normalise)
    z, _ = backbone(*start(backbone), X, "eval")
    mean, deviation = (torch.tensor(part)[:, None, None] for part in normalise)
    assert torch.equal(z, net.eval()((X - mean) / deviation))


class Attending(nn.Module):
    """Rows of pixels attend to earlier rows, by a mask of −∞, as language towers do."""

    mask: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(24, 5)
        self.register_buffer("mask", torch.full((8, 8), -torch.inf).triu(1), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        z: Tensor = self.embed(x.permute(0, 2, 1, 3).flatten(2))
        return ((z @ z.mT + self.mask).softmax(-1) @ z).mean(1)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_mask_of_infinities_neither_refuses_steps_nor_spoils_averages(frozen: bool) -> None:
    net = Attending().requires_grad_(not frozen)
    learner = Learner("er", memory=20, backbone=net, average=0.9)
    learner.observe(images(torch.arange(40) % 4), (torch.arange(40) % 4).tolist())
    me = learner._training.me
    assert me is not None
    assert int(me.refused) == 0
    assert me.average is not None
    assert me.average.isfinite().all()
    own = copy.deepcopy(net)
    own.load_state_dict(me.net.params["backbone"] | me.net.stats)
    assert torch.equal(me.net.features(X, "eval"), own(X))


def test_lazy_modules_are_made_by_the_first_image() -> None:
    backbone = ModuleBackbone(nn.Sequential(nn.Flatten(), nn.LazyLinear(6)), (3, 2, 2))
    assert backbone.features == 6
    assert backbone.parameters(key_of(0, 0, "init"))["1.weight"].shape == (6, 12)
