"""Fine-tuning: the stream alone."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from bison_ocl.engine.step import Engine
from bison_ocl.methods.er import ER
from bison_ocl.methods.finetune import FineTune
from tests.tiny import begin, same, snapshot, stream, train


def test_it_never_stores_nor_replays() -> None:
    me = train(FineTune(), begin(FineTune(), capacity=50), stream())
    assert (me.memory.capacity, me.memory.filled, me.memory.seen.item()) == (0, 0, 0)
    assert FineTune().retrieve(me, stream()[0][0]) is None
    assert FineTune().store(me, stream()[0][0]) is None


def test_the_loss_is_the_streams_cross_entropy() -> None:
    me, new = begin(FineTune()), stream()[0][0]
    (view,) = FineTune().view(me, new)
    expected = F.cross_entropy(me.net(view.x, "linear", "batch"), view.y)
    _, loss = Engine(FineTune()).step(me, new)
    torch.testing.assert_close(loss, expected)


def test_it_equals_replay_without_memory() -> None:
    fine = train(FineTune(), begin(FineTune()), stream())
    replay = train(ER(), begin(ER(), capacity=0), stream())
    assert same(snapshot(fine.net), snapshot(replay.net))


def test_memory_size_does_not_matter() -> None:
    one, other = (train(FineTune(), begin(FineTune(), capacity=n), stream()) for n in (5, 500))
    assert same(snapshot(one), snapshot(other))
