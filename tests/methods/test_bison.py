"""BISON: its losses against known numbers and a naive formula, and what it does in a run."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch, present
from bison_ocl.engine.step import Engine
from bison_ocl.errors import UserError
from bison_ocl.methods.bison import Bison
from bison_ocl.nets.net import Params
from bison_ocl.nets.optimiser import SGD
from bison_ocl.state import State
from tests.tiny import (
    Flat,
    begin,
    flat_images,
    held_out,
    same,
    snapshot,
    stream,
    train,
    with_params,
)

W_STR = [[1.0, 0], [0, 1], [1, 1]]
W_BUF = [[1.0, 1], [-1, 2], [0, -3]]
NEW = Batch(flat_images([[3, 4], [1, 0]]), torch.tensor([1, 2]))
OLD = Batch(flat_images([[0, 2], [-1, 1]]), torch.tensor([1, 0]))
PLAIN = Bison(pal="off", paf="off")


def example(method: Bison, previous: tuple[int, ...] = (), a: float = 0.0) -> State:
    """The state of an example worked out by hand: two features, three classes."""
    me = begin(method, backbone=Flat(2), classes=3, shape=(1, 1, 2))
    net = with_params(me.net, "stream", weight=W_STR)
    if method.dc:
        net = with_params(net, "buffer", weight=W_BUF).with_scalar("a", a)
    mask = torch.tensor([c in previous for c in range(3)])
    return replace(me, net=net).with_extra(previous=mask)


def gradient(method: Bison, me: State, new: Batch = NEW, old: Batch = OLD) -> Params:
    return me.grad(method.loss, new, old)[1]


# --- the dual-classifier loss ---


def test_known_dual_classifier_loss_and_gradients() -> None:
    me = example(PLAIN)
    loss, grads = me.grad(PLAIN.loss, NEW, OLD)
    assert loss.item() == pytest.approx(2.275252, abs=5e-7)
    assert grads["scalars"]["a"].item() == pytest.approx(0.0783285, abs=5e-8)
    assert grads["stream"]["scale"].item() == pytest.approx(0.203131, abs=5e-7)
    assert grads["buffer"]["scale"].item() == pytest.approx(0.0732932, abs=5e-8)
    net, _ = SGD(0.1)(me.net, grads, {})
    assert net.scalar("a").item() == pytest.approx(-0.00783285, abs=5e-9)
    alpha = PLAIN.log(replace(me, net=net))["alpha"]
    assert alpha.item() == pytest.approx(0.498042, abs=5e-7)


def test_known_cross_entropies() -> None:
    me = example(PLAIN)
    z_d, z_m = NEW.x.flatten(1), OLD.x.flatten(1)
    assert PLAIN.ce(me, z_d, NEW.y, "stream").item() == pytest.approx(1.074671, abs=5e-7)
    assert PLAIN.ce(me, z_m, OLD.y, "stream").item() == pytest.approx(1.357239, abs=5e-7)
    assert PLAIN.ce(me, z_m, OLD.y, "buffer").item() == pytest.approx(1.043924, abs=5e-7)


@pytest.mark.parametrize("method", [Bison(), PLAIN, Bison(pal="sb", paf="bs")])
def test_known_loss_of_the_first_step(method: Bison) -> None:
    me = example(method)
    loss, grads = me.grad(method.stream_loss, NEW)
    assert loss.item() == pytest.approx(1.074671, abs=5e-7)
    assert not any(leaf.any() for leaf in tree.leaves((grads["buffer"], grads["scalars"])))


def test_known_total_loss() -> None:
    """L_DC, proxy-anchor and alignment of that example, weighted as on CIFAR-10."""
    me = example(Bison(), previous=(0, 1))
    expected = 2.275252 + 0.1 * 31.211971 + 3 * 0.1992330
    assert Bison().loss(me, NEW, OLD).item() == pytest.approx(expected, abs=1e-6)


# --- every row of the ablation, by a naive formula ---


def cos(z: Tensor, w: Tensor) -> Tensor:
    return z @ w / z.norm() / w.norm()


def naive_ce(logits: list[list[float]], y: list[int]) -> float:
    """Mean of −log softmax."""
    pairs = list(zip(logits, y, strict=True))
    return sum(math.log(sum(map(math.exp, row))) - row[c] for row, c in pairs) / len(pairs)


def naive_loss(method: Bison, me: State) -> float:
    """L = L_DC + β L_PAL + λ L_Align, term by term."""
    z_d, z_m = NEW.x.flatten(1), OLD.x.flatten(1)
    y_d, y_m = NEW.y.tolist(), OLD.y.tolist()

    def logits(z: Tensor, head: str) -> list[list[float]]:
        params, rows = me.net.params[head], range(3)
        if not method.dc:
            return (z @ params["weight"].T + params["bias"]).tolist()
        return [[(params["scale"] * cos(v, params["weight"][c])).item() for c in rows] for v in z]

    total = naive_ce(logits(z_d, "stream"), y_d)
    if method.dc:
        alpha = 1 / (1 + math.exp(-me.net.scalar("a").item()))
        total += alpha * naive_ce(logits(z_m, "stream"), y_m)
        total += (1 - alpha) * naive_ce(logits(z_m, "buffer"), y_m)
    else:
        total += naive_ce(logits(z_m, "stream"), y_m)
    if method.pal != "off":
        z, y, head = (z_m, y_m, "stream") if method.pal == "bs" else (z_d, y_d, "buffer")
        total += method.beta * naive_pal(z, y, me.net.weight(head), method)
    if method.paf != "off":
        chosen = [c for c in range(3) if me.extra["previous"][c]]
        pairs = [(me.net.weight("stream")[c], me.net.weight("buffer")[c]) for c in chosen]
        total += method.lambda_ * sum(1 - cos(*pair).item() for pair in pairs) / max(len(pairs), 1)
    return total


def naive_pal(z: Tensor, y: list[int], w: Tensor, method: Bison) -> float:
    def term(sign: int, c: int) -> float:
        same_class = sign < 0
        exponents = [
            sign * method.gamma * (cos(z[i], w[c]).item() + sign * method.delta)
            for i in range(len(y))
            if (y[i] == c) == same_class
        ]
        return math.log(1 + sum(math.exp(e) for e in exponents))

    pull = sum(term(-1, c) for c in set(y)) / len(set(y))
    return pull + sum(term(1, c) for c in range(3)) / 3


ROWS = [Bison(pal=pal, paf=paf) for pal in ("bs", "sb", "off") for paf in ("sb", "bs", "off")]
ROWS += [Bison(dc=False, pal="bs", paf="off"), Bison(dc=False, pal="off", paf="off")]


@pytest.mark.parametrize("previous", [(), (0, 2)])
@pytest.mark.parametrize("method", ROWS, ids=lambda m: f"dc={m.dc}-pal={m.pal}-paf={m.paf}")
def test_every_ablation_equals_the_naive_formula(method: Bison, previous: tuple[int, ...]) -> None:
    me = example(method, previous, a=0.7)
    loss = method.loss(me, NEW, OLD).item()
    assert loss == pytest.approx(naive_loss(method, me), rel=1e-12)


@pytest.mark.parametrize(
    ("paf", "taught", "teacher"), [("sb", "buffer", "stream"), ("bs", "stream", "buffer")]
)
def test_alignment_teaches_one_classifier_only(paf: Any, taught: str, teacher: str) -> None:
    weak, strong = (Bison(paf=paf, lambda_=value) for value in (0.0, 5.0))
    one, other = (gradient(m, example(m, previous=(0, 1))) for m in (weak, strong))
    assert not torch.equal(one[taught]["weight"], other[taught]["weight"])
    for part in (teacher, "backbone", "scalars"):
        assert same(snapshot(one[part]), snapshot(other[part]))
    assert torch.equal(one[taught]["weight"][2], other[taught]["weight"][2])  # not in the set


@pytest.mark.parametrize(
    ("pal", "shaped", "other"), [("bs", "stream", "buffer"), ("sb", "buffer", "stream")]
)
def test_proxy_anchor_shapes_one_classifier_and_the_features(
    pal: Any, shaped: str, other: str
) -> None:
    weak, strong = (Bison(pal=pal, beta=value) for value in (0.0, 5.0))
    before, after = (gradient(m, example(m)) for m in (weak, strong))
    assert not torch.equal(before[shaped]["weight"], after[shaped]["weight"])
    assert not torch.equal(before["backbone"]["weight"], after["backbone"]["weight"])
    assert torch.equal(before[other]["weight"], after[other]["weight"])
    for head in ("stream", "buffer"):
        assert torch.equal(before[head]["scale"], after[head]["scale"])
    assert torch.equal(before["scalars"]["a"], after["scalars"]["a"])


def test_proxy_anchor_sees_the_right_features() -> None:
    moved = Batch(NEW.x + 1, NEW.y)
    for pal, batches in (("bs", (NEW, moved)), ("sb", (moved, NEW))):
        weak, strong = (Bison(pal=pal, beta=value, paf="off") for value in (0.0, 1.0))
        me = example(weak)
        with_pal = [strong.loss(me, b, OLD) - weak.loss(me, b, OLD) for b in batches]
        assert torch.isclose(*with_pal, rtol=0, atol=1e-9) == (pal == "bs")


def test_lengths_of_vectors_and_features_do_not_matter() -> None:
    method, lengths = Bison(), torch.tensor([[2.0], [0.3], [11]], dtype=torch.float64)
    me = example(method, previous=(0, 1, 2))
    longer = replace(me, net=with_params(me.net, "stream", weight=torch.tensor(W_STR) * lengths))
    scaled = [Batch(batch.x * 5, batch.y) for batch in (NEW, OLD)]
    expected = method.loss(me, NEW, OLD)
    torch.testing.assert_close(method.loss(longer, NEW, OLD), expected)
    torch.testing.assert_close(method.loss(me, *scaled), expected)


def test_with_full_separation_the_heads_share_only_the_features() -> None:
    method = Bison(beta=0.0, lambda_=0.0)
    me = example(method, previous=(0, 1), a=-1000.0)
    moved = Batch(NEW.x + 1, NEW.y)
    grads = gradient(method, me)
    other_new, other_old = gradient(method, me, new=moved), gradient(method, me, old=moved)
    assert same(snapshot(other_new["buffer"]), snapshot(grads["buffer"]))
    assert same(snapshot(other_old["stream"]), snapshot(grads["stream"]))
    assert not torch.equal(other_new["stream"]["weight"], grads["stream"]["weight"])
    assert not torch.equal(other_old["buffer"]["weight"], grads["buffer"]["weight"])


def test_stream_features_never_reach_the_buffer_classifier() -> None:
    me = example(Bison(), previous=(0, 1))
    one = gradient(Bison(), me)["buffer"]
    other = gradient(Bison(), me, new=Batch(NEW.x + 1, NEW.y))["buffer"]
    assert same(snapshot(one), snapshot(other))


@pytest.mark.parametrize(
    ("method", "closed"),
    [(Bison(ce_over_seen=True, pal_seen_only=True), True), (Bison(), False)],
)
def test_rows_of_unseen_classes_can_be_left_out(method: Bison, closed: bool) -> None:
    """By the two settings, or because the classes are not known in advance."""
    new, table = Batch(NEW.x, torch.tensor([1, 0])), torch.tensor([0, 0, -1])
    me = replace(example(method, previous=(0,)), table=table, closed=closed)
    net = with_params(begin(method, backbone=Flat(2), classes=2).net, "stream", weight=W_STR[:2])
    net = with_params(net, "buffer", weight=W_BUF[:2])
    small = replace(me, net=net, table=table[:2]).with_extra(previous=torch.tensor([True, False]))
    torch.testing.assert_close(method.loss(me, new, OLD), method.loss(small, new, OLD))
    assert Bison().loss(replace(me, closed=True), new, OLD) != method.loss(me, new, OLD)


# --- in a run ---


def after(steps: int, method: Bison | None = None, seed: int = 0) -> tuple[State, list[Batch]]:
    """A tiny run after some steps of its first task, and the batches still to come."""
    method = method or Bison()
    me, batches = begin(method, seed), stream(seed)[0]
    for batch in batches[:steps]:
        me, _ = Engine(method).step(me, batch)
    return me, batches[steps:]


def test_the_first_step_leaves_the_buffer_classifier_alone() -> None:
    before = begin(Bison())
    me, _ = after(1)
    for part in ("buffer", "scalars"):
        assert same(snapshot(me.net.params[part]), snapshot(before.net.params[part]))
    for part in ("stream", "backbone"):
        assert not same(snapshot(me.net.params[part]), snapshot(before.net.params[part]))
    assert not me.extra["previous"].any()


def test_the_second_step_has_no_alignment_and_the_third_has() -> None:
    for steps, differs in ((1, False), (2, True)):
        me, (new, *_) = after(steps)
        losses = [Engine(Bison(lambda_=value)).step(clone(me), new)[1] for value in (0.0, 10.0)]
        assert (losses[0] != losses[1]) == differs
        assert me.extra["previous"].any() == differs


def clone(me: State) -> State:
    """A step writes the memory in place: work on a copy."""
    return tree.map_leaves(torch.clone, me)


def test_the_alignment_set_is_the_labels_of_the_last_replay() -> None:
    me, (new, *_) = after(3)
    replayed = Bison().retrieve(me, new)
    assert replayed is not None
    ahead, _ = Engine(Bison()).step(me, new)
    assert torch.equal(ahead.extra["previous"], present(replayed.y, 4))


def test_a_step_is_the_gradient_of_the_loss_on_doubled_views() -> None:
    method = Bison()
    me, (new, *_) = after(2)
    old = method.retrieve(me, new)
    assert old is not None
    views = method.view(me, new, old)
    assert [len(view) for view in views] == [20, 20]
    net = me.net.copy()
    loss, grads = replace(me, net=net).grad(method.loss, *views)
    expected = net.step(grads, 0.1)
    ahead, measured = Engine(method).step(me, new)
    assert torch.equal(measured, loss)
    assert same(snapshot(ahead.net), snapshot(expected))


def test_alpha_starts_anew_for_each_task_and_all_else_stays() -> None:
    me, _ = after(6)
    assert me.net.scalar("a") != 0
    closed = Engine(Bison()).end_task(me)
    assert closed.net.scalar("a") == 0
    before, now = snapshot(me), snapshot(closed)
    changed = {name for name in now if not torch.equal(now[name], before[name])}
    assert changed == {"net.params.scalars.a", "task"}
    assert begin(Bison()).net.scalar("a") == 0


def test_stored_images_are_stream_images_bit_for_bit() -> None:
    tasks = stream()
    me = train(Bison(), begin(Bison()), tasks)
    shown = {(b.x[i].numpy().tobytes(), b.y[i].item()) for t in tasks for b in t for i in range(10)}
    assert me.memory.filled == 20
    for row in range(20):
        assert (me.memory.x[row].numpy().tobytes(), me.memory.y[row].item()) in shown


def test_evaluation_twice_gives_the_same_and_changes_nothing() -> None:
    me, _ = after(4)
    before = snapshot(me)
    one, other = (Engine(Bison()).confusion(me, held_out()) for _ in range(2))
    assert torch.equal(one, other)
    assert same(snapshot(me), before)


@pytest.mark.parametrize("method", [Bison(), Bison(ncm_normalise=False)])
def test_prediction_uses_class_means_and_no_head(method: Bison) -> None:
    me, _ = after(4, method)
    engine, x = Engine(method), held_out().x
    scores = engine.scores(me, engine.summarise(me), x)
    assert (scores[:, 2:] == -torch.inf).all()  # the second task has not begun
    other = replace(me, net=with_params(me.net, "stream", weight=torch.ones(4, 8)))
    other = replace(other, net=with_params(other.net, "buffer", weight=torch.ones(4, 8)))
    assert torch.equal(engine.scores(other, engine.summarise(other), x), scores)


def test_it_learns_two_tasks() -> None:
    me = train(Bison(), begin(Bison()), stream(steps=15))
    confusion = Engine(Bison()).confusion(me, held_out())
    assert confusion.trace() >= 36


# --- settings ---


@pytest.mark.parametrize(
    ("data", "beta", "lambda_"),
    [
        ("split-cifar10", 0.1, 3.0),
        ("split-digits", 0.1, 3.0),
        ("split-cifar100", 0.2, 10.0),
        ("split-miniimagenet", 0.2, 10.0),
    ],
)
def test_presets_are_the_papers(data: str, beta: float, lambda_: float) -> None:
    method = Bison(**Bison.presets.get(data, {}))
    assert (method.beta, method.lambda_) == (beta, lambda_)
    assert (method.gamma, method.delta, method.eta, method.lr) == (32.0, 0.1, 1.0, 0.1)
    assert (method.stream_batch, method.buffer_batch, method.joint) == (10, 10, False)


@pytest.mark.parametrize(
    "settings", [{}, {"paf": "sb"}, {"paf": "bs"}, {"paf": "off", "pal": "sb"}]
)
def test_one_classifier_cannot_teach_itself(settings: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="dc=false"):
        Bison(dc=False, **settings)


def test_one_linear_head_without_dual_classifiers() -> None:
    method = Bison(dc=False, paf="off")
    me, _ = after(3, method)
    assert me.net.params.keys() == {"backbone", "stream", "scalars"}
    assert me.net.params["stream"].keys() == {"weight", "bias"}
    assert method.log(me) == {}
    assert same(snapshot(method.end_task(me)), snapshot(me))


def test_classifiers_start_apart_at_the_given_scale() -> None:
    net = begin(Bison(eta=4.0)).net
    assert not torch.equal(net.weight("stream"), net.weight("buffer"))
    assert net.params["stream"]["scale"] == net.params["buffer"]["scale"] == 4


def test_log_gives_alpha_and_scales() -> None:
    me = begin(Bison())
    numbers = {name: value.item() for name, value in Bison().log(me).items()}
    assert numbers == {"alpha": 0.5, "eta_stream": 1.0, "eta_buffer": 1.0}


def test_the_page_of_the_method_names_code_that_exists() -> None:
    """In its tables of equations and of Algorithm 1, after the paper's own column."""
    root = Path(__file__).parents[2]
    source = "".join(path.read_text() for path in (root / "src").rglob("*.py"))
    known = set(re.findall(r"^ *(?:def|class) (\w+)", source, re.M))
    tables = (root / "docs/BISON.md").read_text().split("## Settings")[0]
    rows = [row.split("|")[-2] for row in tables.splitlines() if row.startswith("|")]
    named = {
        part for row in rows for name in re.findall(r"`([\w.]+)`", row) for part in name.split(".")
    }
    assert len(named) > 20
    assert named <= known
