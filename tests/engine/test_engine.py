"""The engine: counters, purity of a step, counts of predictions, one run or many."""

from __future__ import annotations

import pytest
import torch

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine.step import Engine
from bison_ocl.inference import features
from bison_ocl.methods.bison import Bison
from bison_ocl.methods.er import ER
from bison_ocl.methods.finetune import FineTune
from bison_ocl.methods.method import Method
from bison_ocl.state import State
from tests.tiny import begin, held_out, labelled, readable, same, snapshot, stream, train

METHODS = [ER(), Bison(), FineTune()]
each_method = pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)


def trained(method: Method, seed: int = 0) -> State:
    return train(method, begin(method, seed), stream(seed, steps=3))


def test_steps_and_tasks_are_counted() -> None:
    engine, me = Engine(ER()), begin(ER())
    for task, batches in enumerate(stream(steps=3)):
        for step, batch in enumerate(batches):
            assert (me.task, me.step) == (task, 3 * task + step)
            me, _ = engine.step(me, batch)
        assert me.later == (task > 0)
        me = engine.end_task(me)
        assert me.later
    assert (me.task, me.step) == (2, 6)
    assert me.memory.seen == 60


def test_classes_enter_the_table_with_their_task() -> None:
    engine, me = Engine(ER()), begin(ER())
    me, _ = engine.step(me, labelled(torch.tensor([0, 3, 0])))
    assert me.table.tolist() == [0, -1, -1, 0]
    me, _ = engine.step(engine.end_task(me), labelled(torch.tensor([0, 1])))
    assert me.table.tolist() == [0, 1, -1, 0]


@each_method
def test_a_step_leaves_its_input_alone_but_for_memory_rows(method: Method) -> None:
    me, new = trained(method), labelled(torch.tensor([0, 1, 2]), seed=9)
    before, given = snapshot(me), snapshot(new)
    ahead, _ = Engine(method).step(me, new)
    assert same(snapshot(new), given)
    changed = {n for n, leaf in snapshot(me).items() if not torch.equal(leaf, before[n])}
    assert changed <= {"memory.x", "memory.y"}
    assert not same(snapshot(ahead.net.params), snapshot(me.net.params))
    assert not same(snapshot(ahead.net.stats), snapshot(me.net.stats))


def test_the_batch_may_be_reused_after_a_step() -> None:
    new = labelled(torch.tensor([0, 1, 2]))
    me, _ = Engine(ER()).step(begin(ER()), new)
    before = snapshot(me)
    new.x.fill_(0)
    new.y.fill_(0)
    assert same(snapshot(me), before)


@each_method
def test_the_same_run_twice_is_the_same(method: Method) -> None:
    assert same(snapshot(trained(method)), snapshot(trained(method)))
    assert not same(snapshot(trained(method, 0).net), snapshot(trained(method, 1).net))


@each_method
def test_confusion_counts_predictions_by_label(method: Method) -> None:
    me, test, engine = trained(method), held_out(7), Engine(method)
    predicted = engine.scores(me, engine.summarise(me), test.x).argmax(1)
    expected = [[0] * 4 for _ in range(4)]
    for label, guess in zip(test.y.tolist(), predicted.tolist(), strict=True):
        expected[label][guess] += 1
    confusion = engine.confusion(me, test)
    assert confusion.dtype == torch.int64
    assert confusion.tolist() == expected


@each_method
def test_evaluation_is_repeatable_and_changes_nothing(method: Method) -> None:
    me, test, engine = trained(method), held_out(), Engine(method)
    before, given = snapshot(me), snapshot(test)
    one, other = (engine.confusion(me, test) for _ in range(2))
    assert torch.equal(one, other)
    assert same(snapshot(me), before)
    assert same(snapshot(test), given)


@each_method
def test_scores_do_not_depend_on_chunks_or_neighbours(
    method: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    me, x, engine = trained(method), held_out(5).x, Engine(method)
    summary = engine.summarise(me)
    whole = engine.scores(me, summary, x)
    monkeypatch.setattr(features, "CHUNK", 7)
    assert whole.shape == (20, 4)
    torch.testing.assert_close(engine.scores(me, summary, x), whole)
    torch.testing.assert_close(engine.scores(me, summary, x[3:4]), whole[3:4])


def test_scores_build_no_graph() -> None:
    me, engine = trained(ER()), Engine(ER())
    assert not engine.scores(me, engine.summarise(me), held_out(1).x).requires_grad


def test_evaluation_before_the_first_step_works() -> None:
    for method in METHODS:
        assert Engine(method).confusion(begin(method), held_out(2)).sum() == 8


@each_method
def test_one_vectorised_step_equals_a_loop(method: Method) -> None:
    runs, batches = [trained(method, s) for s in range(3)], [stream(s)[1][5] for s in range(3)]
    stacked, many = tree.stack(runs), Engine(method, tree.vectorised)
    ahead, losses = many.step(stacked, tree.stack(batches))
    closed = many.end_task(ahead)
    counts = many.confusion(closed, tree.stack([held_out()] * 3))
    for i in range(3):
        alone, loss = Engine(method).step(runs[i], batches[i])
        torch.testing.assert_close(losses[i], loss, rtol=1e-10, atol=1e-12)
        one = Engine(method).end_task(alone)
        assert_equal_runs(tree.pick(closed, i), one)
        assert torch.equal(counts[i], Engine(method).confusion(one, held_out()))


def assert_equal_runs(one: State, other: State) -> None:
    """Equal in all but rounding."""
    assert (one.memory.filled, one.later) == (other.memory.filled, other.later)
    torch.testing.assert_close(readable(one), readable(other), rtol=1e-10, atol=1e-12)


def test_float_images_are_refused_by_a_memory_of_bytes() -> None:
    """Rather than kept as zeros and ones."""
    new = Batch(torch.rand(2, 3, 8, 8, dtype=torch.float64), torch.tensor([0, 1]))
    with pytest.raises(RuntimeError, match="dtype"):
        Engine(ER()).step(begin(ER()), new)
