"""ResNet-18: its sizes, and its numbers against plain nn.Modules."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bison_ocl.methods.bison import Bison
from bison_ocl.methods.er import ER
from bison_ocl.methods.method import Method
from bison_ocl.methods.start import first_state
from bison_ocl.nets.resnet import ResNet18, fan_in_uniform
from bison_ocl.rng import key_of
from tests.tiny import size

KEY = key_of(0, 0, "init")
MINI = (3, 84, 84)


class PlainBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv3 = self.bn3 = None
        if stride != 1 or inputs != outputs:
            self.conv3 = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.bn3 = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(out + (self.bn3(self.conv3(x)) if self.conv3 is not None else x))


class PlainResNet(nn.Module):
    """As the field's code writes it, with the layers by the names of ours."""

    def __init__(self, filters: int) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, filters, 3, 1, 1, bias=False), nn.BatchNorm2d(filters)
        blocks, inputs = [], filters
        for stage in range(4):
            for b in range(2):
                outputs = filters * 2**stage
                blocks.append(PlainBlock(inputs, outputs, 2 if stage > 0 and b == 0 else 1))
                inputs = outputs
        self.blocks = nn.ModuleList(blocks)

    def layers(self) -> dict[str, tuple[nn.Conv2d, nn.BatchNorm2d]]:
        found = {"stem": (self.conv, self.bn)}
        for i, block in enumerate(self.blocks):
            name = f"layer{i // 2 + 1}.{i % 2}"
            found[f"{name}.first"] = (block.conv1, block.bn1)
            found[f"{name}.second"] = (block.conv2, block.bn2)
            if block.conv3 is not None:
                found[f"{name}.shortcut"] = (block.conv3, block.bn3)
        return found

    def map(self, x: Tensor) -> Tensor:
        x = F.relu(self.bn(self.conv(x)))
        for block in self.blocks:
            x = block(x)
        return x

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(self.map(x), 4).flatten(1)


def pair(filters: int, shape: tuple[int, int, int]) -> tuple[ResNet18, dict, dict, PlainResNet]:
    """Our network and the plain one with the same random weights and statistics, in float64."""
    ours, plain = ResNet18(filters, shape), PlainResNet(filters).double()
    params = {name: value.double() for name, value in ours.parameters(KEY).items()}
    generator = torch.Generator().manual_seed(0)
    for name in params:
        if not name.endswith(".weight"):
            params[name] = params[name] + torch.rand(params[name].shape, generator=generator)
    stats = {
        name: 0.5 + torch.rand(value.shape, generator=generator, dtype=torch.float64)
        for name, value in ours.statistics(params).items()
    }
    with torch.no_grad():
        for name, (conv, bn) in plain.layers().items():
            conv.weight.copy_(params[f"{name}.weight"])
            bn.weight.copy_(params[f"{name}.scale"])
            bn.bias.copy_(params[f"{name}.shift"])
            bn.running_mean.copy_(stats[f"{name}.mean"])
            bn.running_var.copy_(stats[f"{name}.variance"])
    return ours, params, stats, plain


def pictures(n: int, shape: tuple[int, ...]) -> Tensor:
    return torch.rand((n, *shape), generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize("shape", [(3, 32, 32), MINI])
def test_training_pass_equals_plain_modules_in_every_layer(shape: tuple[int, int, int]) -> None:
    ours, params, stats, plain = pair(2, shape)
    x = pictures(3, shape)
    z, moved = ours(params, stats, x, "train")
    torch.testing.assert_close(z, plain.train()(x), rtol=1e-9, atol=1e-12)
    assert moved.keys() == stats.keys()
    for name, (_, bn) in plain.layers().items():
        torch.testing.assert_close(moved[f"{name}.mean"], bn.running_mean, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(moved[f"{name}.variance"], bn.running_var, rtol=1e-9, atol=1e-12)


def test_evaluation_pass_equals_plain_modules_and_moves_nothing() -> None:
    ours, params, stats, plain = pair(2, (3, 32, 32))
    x = pictures(3, (3, 32, 32))
    z, moved = ours(params, stats, x, "eval")
    torch.testing.assert_close(z, plain.eval()(x), rtol=1e-9, atol=1e-12)
    assert moved == {}


def test_gradients_equal_plain_modules() -> None:
    ours, params, stats, plain = pair(2, (3, 32, 32))
    x = pictures(2, (3, 32, 32))
    params = {name: value.requires_grad_() for name, value in params.items()}
    ours(params, stats, x, "train")[0].square().sum().backward()
    plain.train()(x).square().sum().backward()
    for name, (conv, bn) in plain.layers().items():
        for mine, theirs in (("weight", conv.weight), ("scale", bn.weight), ("shift", bn.bias)):
            torch.testing.assert_close(
                params[f"{name}.{mine}"].grad, theirs.grad, rtol=1e-7, atol=1e-10
            )


def test_pooling_of_large_images_drops_rows_8_to_10() -> None:
    ours, params, stats, plain = pair(1, MINI)
    x = pictures(2, MINI)
    last = plain.train().map(x)
    assert last.shape == (2, 8, 11, 11)
    quarters = [last[:, :, i : i + 4, j : j + 4].mean((2, 3)) for i in (0, 4) for j in (0, 4)]
    expected = torch.stack(quarters, dim=2).flatten(1)  # channel-major
    torch.testing.assert_close(ours(params, stats, x, "train")[0], expected)


@pytest.mark.parametrize(
    ("filters", "shape", "features"),
    [
        (20, (3, 32, 32), 160),
        (20, MINI, 640),
        (64, (3, 32, 32), 512),
        (1, (3, 8, 8), 8),
        (1, (3, 28, 28), 8),
        (1, (3, 40, 16), 16),
        (1, (3, 64, 64), 32),
    ],
)
def test_feature_sizes(filters: int, shape: tuple[int, int, int], features: int) -> None:
    assert ResNet18(filters, shape).features == features
    if filters == 1:
        net = ResNet18(1, shape)
        params = net.parameters(KEY)
        x = pictures(2, shape).float()
        assert net(params, net.statistics(params), x, "eval")[0].shape == (2, features)


@pytest.mark.parametrize("method", [ER(), Bison()])
def test_features_of_the_methods_backbone_are_non_negative(method: Method) -> None:
    me = first_state(method, 0, ResNet18(2), 10, 5, (3, 32, 32))
    assert me.net.features(pictures(2, (3, 32, 32)).float(), "batch").min() >= 0


@pytest.mark.parametrize(
    ("filters", "shape", "classes", "er", "bison"),
    [
        (20, (3, 32, 32), 10, 1_094_750, 1_096_343),
        (20, (3, 32, 32), 100, 1_109_240, 1_125_143),
        (20, MINI, 100, 1_157_240, 1_221_143),
        (64, (3, 32, 32), 100, 11_220_132, 11_271_235),
    ],
)
def test_parameter_counts(
    filters: int, shape: tuple[int, int, int], classes: int, er: int, bison: int
) -> None:
    backbone = ResNet18(filters, shape)
    for method, expected in ((ER(), er), (Bison(), bison)):
        params = first_state(method, 0, backbone, classes, 0, shape).net.params
        assert size(params) == expected
        assert size(params["backbone"]) == {20: 1_093_140, 64: 11_168_832}[filters]


def test_sizes_of_the_stages() -> None:
    params = ResNet18().parameters(KEY)
    stages = ["stem", "layer1", "layer2", "layer3", "layer4"]
    sizes = [size({n: p for n, p in params.items() if n.split(".")[0] == s}) for s in stages]
    assert sizes == [580, 14_560, 51_600, 205_600, 820_800]
    assert size(ResNet18().statistics(params)) == 3_000
    assert sum(name.endswith(".weight") for name in params) == 20


def test_weights_start_uniform_in_fan_in_bounds() -> None:
    for name, value in ResNet18().parameters(KEY).items():
        if name.endswith(".weight"):
            bound = (value[0].numel()) ** -0.5
            assert 0.95 * bound < value.abs().max() <= bound, name
            assert abs(value.mean()) < 4 * bound / (3 * value.numel()) ** 0.5, name
        else:
            assert (value == (1 if name.endswith(".scale") else 0)).all(), name


def test_known_bounds() -> None:
    stem = ResNet18().parameters(KEY)["stem.weight"]
    assert stem.abs().max() <= 0.192451
    for features, bound in ((160, 0.0790569), (640, 0.0395285), (512, 0.0441942)):
        top = fan_in_uniform(KEY, (100, features)).abs().max().item()
        assert top == pytest.approx(bound, rel=1e-3)


def test_statistics_start_at_zero_and_one() -> None:
    net = ResNet18(2)
    stats = net.statistics(net.parameters(KEY))
    assert all((v == (0 if n.endswith(".mean") else 1)).all() for n, v in stats.items())


def test_every_layer_has_its_own_draw() -> None:
    params = ResNet18(4).parameters(KEY)
    one, other = params["layer1.0.first.weight"], params["layer1.0.second.weight"]
    assert one.shape == other.shape
    assert not torch.equal(one, other)
