"""A step whose loss or update is not finite is refused: its run stays as it was, others go on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bison_ocl import Learner, tree
from bison_ocl.batch import Batch
from bison_ocl.contract.memory import poisoned
from bison_ocl.contract.moments import held as in_use
from bison_ocl.engine import capture
from bison_ocl.engine.capture import Captured
from bison_ocl.engine.eager import Eager
from bison_ocl.engine.step import Engine
from bison_ocl.experiments.train.group import Group
from bison_ocl.experiments.train.run import Run, Saving
from bison_ocl.methods import METHODS, method_class
from bison_ocl.methods.bison import Bison
from bison_ocl.methods.er import ER
from bison_ocl.methods.lode import LODE
from bison_ocl.methods.method import Method, Update
from bison_ocl.methods.ocm.ocm import OCM
from bison_ocl.report.study.entry import by_rule
from bison_ocl.report.study.study import diverged
from bison_ocl.state import State
from tests.contract.test_resume import Stop, Watcher, fresh
from tests.tiny import begin, images, readable, same, snapshot, stream, without_a_graph

SICK_STEP, SICK_SEED = 4, 1
"""the memory is full then; in the loop a step before that is tried too"""
COUNTED = ("step", "refused", "table")


def sick(
    of: type[Method], where: str, step: int = SICK_STEP, factor: float = torch.inf, **settings: Any
) -> Method:
    """A method with one step of one seed that is not finite: its loss, gradient or statistics."""

    @dataclass(frozen=True, kw_only=True)
    class Sick(of):  # type: ignore[misc, valid-type]
        def update(self, me: State, new: Batch) -> Update:
            found: Update = super().update(me, new)
            now = (me.step == step) & (me.seed == SICK_SEED)
            worth = torch.where(now, factor, torch.ones_like(found.loss))
            if where == "loss":
                return replace(found, loss=found.loss - worth + 1)
            if where == "statistics":  # as of a network whose weights are huge, but finite
                me.net.stats = {name: value * worth for name, value in me.net.stats.items()}
                return found
            head = {name: value * worth for name, value in found.grads[self.head].items()}
            return replace(found, grads=found.grads | {self.head: head})

    return Sick(**settings)


each_fault = pytest.mark.parametrize("where", ["loss", "gradient", "statistics"])
each_method = pytest.mark.parametrize("of", [ER, Bison, LODE, OCM])


def batches(seed: int) -> list[Batch]:
    return stream(seed)[0]


def held(me: State) -> dict[str, Tensor]:
    """What a refused step must leave alone: all but counters and the memory's spare row."""
    fields = {name: value[:-1] for name, value in me.memory.fields.items()}
    me = replace(me, memory=replace(me.memory, fields=fields))
    return {n: leaf.clone() for n, leaf in readable(me).items() if n not in COUNTED}


@each_fault
@each_method
@pytest.mark.parametrize("at", [0, 1, SICK_STEP])
def test_a_refused_step_leaves_the_run_as_it_was(of: type[Method], where: str, at: int) -> None:
    method = sick(of, where, at)
    engine, me = Engine(method), begin(method, SICK_SEED)
    for step, new in enumerate(batches(SICK_SEED)):
        before = held(me)
        me, loss = engine.step(me, new)
        refused = step == at
        assert bool(loss.isfinite()) is not refused
        assert int(me.refused) == (step >= at)
        assert int(me.step) == step + 1
        assert same(before, held(me)) is refused
        assert set(new.y.tolist()) <= set(me.seen.nonzero()[:, 0].tolist())


def test_a_step_whose_moments_are_not_finite_is_refused() -> None:
    """The square of a finite gradient may overflow; Adam would never move its weights again."""
    method = sick(OCM, "gradient", factor=1e200)
    engine, me = Engine(method), begin(method, SICK_SEED)
    for new in batches(SICK_SEED):
        me, _ = engine.step(me, new)
    assert int(me.refused) == 1
    assert all(leaf.isfinite().all() for leaf in tree.leaves(me.moments))


@pytest.mark.parametrize("name", METHODS)
def test_rows_that_a_refused_step_left_empty_are_never_read_nor_counted(name: str) -> None:
    """From then on `filled` exceeds the rows in use, until the memory is full."""
    method = sick(method_class(name), "loss", 1)
    engine, me = Engine(method), begin(method, SICK_SEED, capacity=49)
    news = batches(SICK_SEED)
    for new in news:
        bad, _ = engine.step(poisoned(me, 3), new)
        me, _ = engine.step(me, new)
        assert same(snapshot(bad.net), snapshot(me.net))
        assert same(snapshot(in_use(bad)), snapshot(in_use(me)))
    assert int(me.refused) == 1
    pictures = {x.numpy().tobytes() for new in news for x in new.x}
    assert all(x.numpy().tobytes() in pictures for x in in_use(me).memory.x)


@each_fault
@each_method
def test_others_of_a_stack_go_on_bit_for_bit(of: type[Method], where: str) -> None:
    method, healthy = sick(of, where), of()
    runs = tree.stack([begin(method, seed) for seed in range(3)])
    well = tree.stack([begin(healthy, seed) for seed in range(3)])
    many, few = Engine(method, tree.vectorised), Engine(healthy, tree.vectorised)
    for step, news in enumerate(zip(*map(batches, range(3)), strict=True)):
        before = held(tree.pick(runs, SICK_SEED))
        runs, loss = many.step(runs, tree.stack(news))
        well, _ = few.step(well, tree.stack(news))
        if step == SICK_STEP:
            assert loss.isfinite().tolist() == [True, False, True]
            assert same(before, held(tree.pick(runs, SICK_SEED)))
    assert runs.refused.tolist() == [0, 1, 0]
    for seed in (0, 2):
        assert same(snapshot(tree.pick(runs, seed).net), snapshot(tree.pick(well, seed).net))
        assert same(held(tree.pick(runs, seed)), held(tree.pick(well, seed)))


@each_fault
@each_method
@pytest.mark.parametrize("seeds", [1, 3])
def test_captured_steps_refuse_as_eager_ones(
    of: type[Method], where: str, seeds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "recorded", without_a_graph)
    method = sick(of, where)
    engine = Engine(method, tree.vectorised) if seeds > 1 else Engine(method)
    news: list[Any] = [tree.stack(n) for n in zip(*map(batches, range(3)), strict=True)]
    me = tree.stack([begin(method, seed) for seed in range(3)])
    if seeds == 1:
        me, news = begin(method, SICK_SEED), batches(SICK_SEED)
    eager, captured = Eager(engine, tree.map_leaves(torch.clone, me)), Captured(engine, me)
    for new in news:
        assert torch.equal(captured.step(new).nan_to_num(), eager.step(new).nan_to_num())
        assert same(snapshot(captured.me), snapshot(eager.me))
    assert captured.graphs
    assert int(captured.me.refused.sum()) == 1


@pytest.mark.parametrize("seeds", [(1,), (0, 1)])
def test_a_record_counts_refused_steps(seeds: tuple[int, ...], tmp_path: Path) -> None:
    """Whether the run was interrupted after the step or not."""

    def runs() -> list[Run]:
        found = [fresh("er", seed) for seed in seeds]
        for run in found:
            run.method = sick(ER, "gradient", 6, filters=2)
        return found

    whole = Group(runs()).train(Watcher())
    savings = [Saving(tmp_path / str(seed), every=1e-9) for seed in seeds]
    with pytest.raises(Stop):
        Group(runs()).train(Watcher(step=9), savings)
    again = runs()
    for run, saving in zip(again, savings, strict=True):
        run.resume(saving.path)
        assert run.progress.refused == (run.spec.seed == SICK_SEED)
    for found in (whole, Group(again).train(Watcher())):
        assert [record.refused_steps for record in found] == [0] * (len(found) - 1) + [1]
        assert [record.losses.loss.index(None) for record in found[-1:]] == [6]
        (said,) = diverged("er", list(by_rule(found)))
        assert "the loss of 1 run was not finite, 1 step refused (first: er, tiny, seed 1)" in said


@each_fault
def test_a_learner_goes_on_after_a_refused_step(where: str) -> None:
    learner = Learner("er", memory=20, filters=1, seed=SICK_SEED)
    learner._training.engine = Engine(sick(ER, where, 1))
    y = torch.arange(40) % 2
    learner.observe(images(y), y.tolist())
    reason = "1 step was refused because the loss or the update is not finite: use a lower lr"
    with pytest.warns(UserWarning, match=reason) as said:
        learner.predict(images(y))
    assert len(said) == 1
    assert learner._training.me is not None
    assert (int(learner._training.me.refused), int(learner._training.me.step)) == (1, 4)
    assert int(learner._training.me.memory.seen) == 30
    assert set(learner.predict(images(y))) <= {0, 1}
