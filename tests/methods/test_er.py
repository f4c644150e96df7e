"""Experience replay, which is also the default of every hook of a method."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.batch import Batch, to_float
from bison_ocl.engine.step import Engine
from bison_ocl.methods.er import ER
from bison_ocl.state import State
from tests.tiny import begin, held_out, labelled, same, snapshot, stream, train

NEW, OLD = labelled(torch.tensor([2, 3, 3]), 1), labelled(torch.tensor([0, 1, 0, 1, 2]), 2)


def as_views(*batches: Batch) -> list[Batch]:
    return [Batch(to_float(batch.x, torch.float64), batch.y) for batch in batches]


def by_hand(me: State, x: Tensor, y: Tensor) -> Tensor:
    return F.cross_entropy(me.net(x, "linear", "batch"), y)


def test_the_loss_is_a_sum_of_two_means_from_two_passes() -> None:
    me, (new, old) = begin(ER()), as_views(NEW, OLD)
    expected = by_hand(me, new.x, new.y) + by_hand(me, old.x, old.y)
    torch.testing.assert_close(ER().loss(me, new, old), expected)


def test_joint_shares_one_pass_and_still_sums_two_means() -> None:
    me, (new, old) = begin(ER()), as_views(NEW, OLD)
    logits = me.net(torch.cat([new.x, old.x]), "linear", "batch")
    expected = F.cross_entropy(logits[:3], new.y) + F.cross_entropy(logits[3:], old.y)
    loss = ER(joint=True).loss(me, new, old)
    torch.testing.assert_close(loss, expected)
    assert not torch.isclose(loss, ER().loss(me, new, old), rtol=1e-6)


def test_statistics_move_stream_first_then_memory() -> None:
    new, old = as_views(NEW, OLD)
    separate, joint, expected = (begin(ER()) for _ in range(3))
    separate.grad(ER().loss, new, old)
    expected.net.features(new.x)
    expected.net.features(old.x)
    assert same(snapshot(separate.net.stats), snapshot(expected.net.stats))
    joint.grad(ER(joint=True).loss, new, old)
    once = begin(ER()).net
    once.features(torch.cat([new.x, old.x]))
    assert same(snapshot(joint.net.stats), snapshot(once.stats))


def test_the_first_step_trains_on_the_stream_alone() -> None:
    me, (new,) = begin(ER()), as_views(NEW)
    assert ER().retrieve(me, NEW) is None
    torch.testing.assert_close(ER().stream_loss(me, new), by_hand(me, new.x, new.y))


def test_unseen_classes_take_part_unless_told_otherwise() -> None:
    me, (new,) = begin(ER()).meet(NEW.y), as_views(NEW)
    logits = me.net(new.x, "linear", "batch")
    seen_only = F.cross_entropy(logits[:, 2:], new.y - 2)
    torch.testing.assert_close(ER(ce_over_seen=True).stream_loss(me, new), seen_only)
    torch.testing.assert_close(ER().stream_loss(replace(me, closed=False), new), seen_only)
    torch.testing.assert_close(ER().stream_loss(me, new), F.cross_entropy(logits, new.y))


def test_views_append_augmented_images_to_the_originals() -> None:
    me = begin(ER())
    new, old = ER().view(me, NEW, OLD)
    assert (len(new), len(old)) == (6, 10)
    assert torch.equal(new.x[:3], NEW.x.double() / 255)
    assert torch.equal(old.x[:5], OLD.x.double() / 255)
    assert new.y.tolist() == [2, 3, 3, 2, 3, 3]
    assert not torch.equal(new.x[3:], new.x[:3])
    replaced = ER(view_mode="replace").view(me, NEW, OLD)
    for doubled, single in zip((new, old), replaced, strict=True):
        assert torch.equal(single.x, doubled.x[len(single) :])
        assert torch.equal(single.y, doubled.y[len(single) :])


def test_views_change_from_step_to_step() -> None:
    me = begin(ER())
    later = replace(me, step=me.step + 1)
    assert not torch.equal(ER().view(me, NEW)[0].x[3:], ER().view(later, NEW)[0].x[3:])
    assert torch.equal(ER().view(me, NEW)[0].x, ER().view(me, NEW)[0].x)


def test_a_batch_enters_the_memory_after_its_step() -> None:
    engine = Engine(ER())
    me, _ = engine.step(begin(ER()), NEW)
    assert (me.memory.filled, me.memory.seen.item()) == (3, 3)
    assert torch.equal(me.memory.x[:3], NEW.x)
    assert torch.equal(me.memory.y[:3], NEW.y)
    replayed = ER().retrieve(me, OLD)
    assert replayed is not None
    assert sorted(replayed.y.tolist()) == [2, 3, 3]


def test_the_draws_of_a_step_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two draws from one key would be the same numbers."""
    me = train(ER(), begin(ER()), stream())
    names: list[str] = []
    key = State.key
    monkeypatch.setattr(State, "key", lambda me, name: names.append(name) or key(me, name))
    Engine(ER()).step(me, NEW)
    assert len(names) == len(set(names)) == 3


@pytest.mark.parametrize("size", [1, 4, 10])
def test_the_replay_batch_has_its_own_size(size: int) -> None:
    method = ER(buffer_batch=size)
    me = train(method, begin(method), stream())
    replayed = method.retrieve(me, NEW)
    assert replayed is not None
    assert len(replayed) == size


def test_the_exact_reservoir_is_a_setting() -> None:
    method = ER(exact_reservoir=True)
    one, other = (train(m, begin(m, capacity=5), stream()) for m in (method, ER()))
    assert one.memory.filled == other.memory.filled == 5
    assert not torch.equal(one.memory.y[:5], other.memory.y[:5]) or not torch.equal(
        one.memory.x[:5], other.memory.x[:5]
    )


def test_prediction_is_the_best_seen_logit() -> None:
    me = begin(ER()).meet(torch.tensor([1, 2]))
    x = to_float(held_out().x, torch.float64)
    scores, logits = ER().predict(me, (), x), me.net(x, "linear", "eval")
    assert torch.equal(scores[:, 1:3], logits[:, 1:3])
    assert (scores[:, [0, 3]] == -torch.inf).all()


def test_a_memory_of_no_rows_is_fine_tuning() -> None:
    me = train(ER(), begin(ER(), capacity=0), stream())
    assert me.memory.filled == 0
    assert me.memory.seen == 120
