"""A-GEM: the projection, when it applies, and that the reference itself is never followed."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine.step import Engine
from bison_ocl.errors import UserError
from bison_ocl.methods.agem import AGEM, projected
from bison_ocl.methods.er import ER
from bison_ocl.nets.net import Params
from bison_ocl.state import State
from tests.tiny import begin, same, snapshot, stream, train


def parts(*values: float) -> Params:
    """A gradient spread over several parts, to see that they count as one vector."""
    split = torch.tensor(values, dtype=torch.float64)
    return {"backbone": {"w": split[:1]}, "linear": {"b": split[1:]}}


def vector(grads: Params) -> Tensor:
    return torch.cat([leaf.flatten() for leaf in tree.leaves(grads)])


def test_known_projection() -> None:
    bent = vector(projected(parts(1, 2), parts(-2, 0.5)))
    assert bent.tolist() == pytest.approx([0.5294118, 2.1176471], abs=5e-8)
    assert (bent @ torch.tensor([-2, 0.5], dtype=torch.float64)).item() == pytest.approx(0)


@pytest.mark.parametrize("reference", [(2, 0.5), (0, 0), (2, -1)])
def test_a_gradient_that_opposes_nothing_stays(reference: tuple[float, float]) -> None:
    assert vector(projected(parts(1, 2), parts(*reference))).tolist() == [1, 2]


def test_runs_project_each_for_itself() -> None:
    references = [parts(-2, 0.5), parts(2, 0.5)]
    together = tree.vectorised(projected)(
        tree.stack([parts(1, 2), parts(1, 2)]), tree.stack(references)
    )
    for run, reference in enumerate(references):
        alone = projected(parts(1, 2), reference)
        assert same(snapshot(tree.pick(together, run)), snapshot(alone))


def after(steps: int) -> tuple[State, Batch]:
    """A run after some steps, six to a task, and its next batch."""
    me, batches = begin(AGEM()), [new for task in stream() for new in task]
    for i, new in enumerate(batches[:steps]):
        me = Engine(AGEM()).end_task(me) if i == 6 else me
        me, _ = Engine(AGEM()).step(me, new)
    return (Engine(AGEM()).end_task(me) if steps == 6 else me), batches[steps]


def test_the_first_task_is_fine_tuning() -> None:
    me, new = after(4)
    assert me.memory.filled == 20
    assert AGEM().retrieve(me, new) is None
    expected, _ = Engine(ER()).step(begin(ER(), capacity=0), stream()[0][0])
    found, _ = Engine(AGEM()).step(begin(AGEM()), stream()[0][0])
    assert same(snapshot(found.net), snapshot(expected.net))


@pytest.mark.parametrize("steps", [6, 7, 9])
def test_later_steps_follow_the_projected_stream_gradient(steps: int) -> None:
    me, new = after(steps)
    method = AGEM()
    old = method.retrieve(me, new)
    assert old is not None
    met = replace(me.meet(new.y), net=me.net.copy())
    loss, g = met.grad(method.stream_loss, *method.view(met, new))
    _, r = met.grad(method.stream_loss, *method.view(met, old, name="replay view"))
    along, square = vector(g) @ vector(r), vector(r) @ vector(r)
    expected = vector(g) - (along / square * vector(r) if along < 0 else 0)
    before = vector(me.net.params)
    ahead, measured = Engine(method).step(me, new)
    torch.testing.assert_close(vector(ahead.net.params), before - 0.1 * expected)
    assert same(snapshot(ahead.net.stats), snapshot(met.net.stats))
    assert measured == loss


def test_some_steps_do_project() -> None:
    """Otherwise the test above would say nothing."""
    me, new = after(6)
    stepped, _ = Engine(AGEM()).step(me, new)
    plain, _ = Engine(AGEM()).step(replace(after(6)[0], later=False), new)
    assert not same(snapshot(stepped.net.params), snapshot(plain.net.params))


def test_the_memory_is_the_reservoir_of_experience_replay() -> None:
    one, other = (train(m, begin(m), stream()).memory for m in (AGEM(), ER()))
    rows = slice(0, 20)
    assert torch.equal(one.x[rows], other.x[rows])
    assert torch.equal(one.y[rows], other.y[rows])


def test_a_joint_pass_is_refused() -> None:
    with pytest.raises(UserError, match="joint"):
        AGEM(joint=True)
