"""ER-DVC: its loss, a step against its definition, what it replays, its size."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch, to_float
from bison_ocl.engine.step import Engine
from bison_ocl.errors import UserError
from bison_ocl.methods.dvc import DVC
from bison_ocl.methods.settings import configured
from bison_ocl.methods.start import first_state
from bison_ocl.nets.net import Net
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.state import State
from bison_ocl.views.augment import augment
from tests.tiny import begin, held_out, same, size, snapshot, stream, with_params

PLAIN = DVC()
SOME = DVC(subsample=7, buffer_batch=3)
COPY = DVC(subsample=7, buffer_batch=3, mgi_bn_side_effect=False)


def after(steps: int, method: DVC = PLAIN) -> tuple[State, Batch]:
    """A run after some steps, six to a task, and its next batch."""
    engine, me = Engine(method), begin(method)
    batches = [new for task in stream() for new in task]
    for i, new in enumerate(batches[:steps]):
        me = engine.end_task(me) if i == 6 else me
        me, _ = engine.step(me, new)
    return (engine.end_task(me) if steps == 6 else me), batches[steps]


def clone(me: State) -> State:
    """A step writes the memory in place: work on a copy."""
    return tree.map_leaves(torch.clone, me)


def loss_by_hand(method: DVC, net: Net, x: Tensor, other: Tensor, y: Tensor) -> Tensor:
    """λ1 CE + λ2 (1/3) Σ p̄ ln p̄ + λ3 mean |[r; r] − [p; p']|, from one pass over both views."""
    z = net(torch.cat([x, other]), "linear")
    one, two = z[: len(y)], z[len(y) :]
    q = net.params["joint"]
    inputs = torch.cat([one, two], dim=1)
    hidden = F.relu(inputs @ q["first.weight"].flatten(0, 1) + q["first.bias"])
    joint = hidden @ q["weight"].T + q["bias"]
    p = [logits.softmax(1) for logits in (one, two, joint)]
    entropy = sum((m.mean(0) * m.mean(0).log()).sum() for m in p) / 3
    apart = (torch.cat([p[2], p[2]]) - torch.cat(p[:2])).abs().mean()
    ce = F.cross_entropy(z, torch.cat([y, y]))
    return method.lambda1 * ce + method.lambda2 * entropy + method.lambda3 * apart


@pytest.mark.parametrize("method", [PLAIN, DVC(lambda1=0.5, lambda2=2.0, lambda3=4.0)])
def test_the_loss_is_its_formula(method: DVC) -> None:
    me, new = after(2, method)
    (views,) = method.view(me, new)
    expected = loss_by_hand(method, me.net.copy(), views.x[:10], views.x[10:], new.y)
    torch.testing.assert_close(method.stream_loss(me, views), expected)


def sizes(net: Net, x: Tensor, other: Tensor, y: Tensor) -> list[float]:
    """‖softmax − one-hot‖₁ · ‖feature‖₁ of the originals, by a loop."""
    z = net.features(torch.cat([x, other]), "batch")
    found = []
    for i in range(len(y)):
        p = net.logits(z[i], "linear").softmax(0)
        target = F.one_hot(y[i], len(p))
        found.append(((p - target).abs().sum() * z[i].abs().sum()).item())
    return found


def by_hand(method: DVC, me: State, new: Batch) -> Net:
    """The method's steps one after the other."""
    me = replace(me.meet(new.y), net=me.net.copy())
    x = to_float(new.x, torch.float64)
    seen = augment(me.key("view"), x)
    _, g = me.net.grad(lambda net: loss_by_hand(method, net, x, seen, new.y))
    slots = me.memory.draw(me.key("retrieve"), min(method.subsample, me.memory.filled))
    x, y = to_float(me.memory.x[slots], torch.float64), me.memory.y[slots]
    seen = augment(me.key("replay view"), x)
    ahead = me.net.copy().step(g, method.lr)
    before, then = sizes(me.net, x, seen, y), sizes(ahead, x, seen, y)
    if method.mgi_bn_side_effect:
        me.net.features(torch.cat([x, seen]), "train")
    best = sorted(range(len(y)), key=lambda i: before[i] - then[i])[: method.buffer_batch]
    _, h = me.net.grad(lambda net: loss_by_hand(method, net, x[best], seen[best], y[best]))
    return me.net.step(g, method.lr).step(h, method.lr)


@pytest.mark.parametrize("method", [PLAIN, SOME, COPY])
@pytest.mark.parametrize("steps", [1, 3, 8])
def test_a_step_is_its_definition(method: DVC, steps: int) -> None:
    me, new = after(steps, method)
    expected = by_hand(method, me, new)
    ahead, _ = Engine(method).step(me, new)
    for name, value in tree.named(expected).items():
        torch.testing.assert_close(tree.named(ahead.net)[name], value, rtol=1e-9, atol=1e-12)


def test_the_first_step_trains_on_the_stream_alone() -> None:
    me, new = after(0)
    net = me.net.copy()
    (views,) = PLAIN.view(me, new)
    _, g = net.grad(lambda net: loss_by_hand(PLAIN, net, views.x[:10], views.x[10:], new.y))
    ahead, _ = Engine(PLAIN).step(me, new)
    for name, value in tree.named(net.step(g, 0.1)).items():
        torch.testing.assert_close(tree.named(ahead.net)[name], value)


def test_scoring_on_a_copy_moves_no_statistics() -> None:
    me, new = after(3)
    with_trace, without = (Engine(m).step(clone(me), new)[0].net for m in (SOME, COPY))
    assert not same(snapshot(with_trace.stats), snapshot(without.stats))
    assert same(snapshot(with_trace.params), snapshot(without.params))


def test_prediction_uses_the_linear_head_alone() -> None:
    me, _ = after(8)
    engine, x = Engine(PLAIN), held_out().x
    scores = engine.scores(me, (), x)
    other = replace(me, net=with_params(me.net, "joint", weight=torch.zeros(4, 128)))
    assert torch.equal(engine.scores(other, (), x), scores)


def test_unseen_classes_take_no_part_when_their_number_is_open() -> None:
    me, new = begin(PLAIN, closed=False).meet(torch.tensor([0, 1])), stream()[0][0]
    _, grads = me.grad(PLAIN.stream_loss, *PLAIN.view(me, new))
    for name, rows in (("linear", 0), ("joint", 1)):
        key = "weight" if name == "linear" else "first.weight"
        grad = grads[name][key].movedim(rows, 0)
        assert grad[:2].any()
        assert not grad[2:].any()
    assert not grads["joint"]["weight"][2:].any()


@pytest.mark.parametrize(
    ("data", "classes", "shape", "filters", "total"),
    [
        ("split-cifar10", 10, (3, 32, 32), 20, 1_098_728),
        ("split-cifar100", 100, (3, 32, 32), 20, 1_147_868),
        ("split-miniimagenet", 100, (3, 84, 84), 20, 1_195_868),
        ("split-cifar100", 100, (3, 32, 32), 64, 11_258_760),
    ],
)
def test_known_sizes(
    data: str, classes: int, shape: tuple[int, int, int], filters: int, total: int
) -> None:
    method = configured("er-dvc", data, {})
    assert isinstance(method, DVC)
    assert method.lambda3 == (2 if classes == 10 else 4)
    assert method.joint_classes == classes
    me = first_state(method, 0, ResNet18(filters, shape), classes, 1, (1,))
    assert size(me.net.params) == total


@pytest.mark.parametrize("settings", [{"joint": True}, {"view_mode": "replace"}])
def test_settings_that_break_up_the_pairs_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(UserError, match="pairs of views"):
        DVC(**settings)  # type: ignore[arg-type]
