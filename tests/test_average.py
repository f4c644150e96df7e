"""Averaged weights: they follow the trained ones, change no training, and go everywhere with it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import bison_ocl.learner.origin
import bison_ocl.learner.training
from bison_ocl import Learner, UserError, tree
from bison_ocl.engine import capture
from bison_ocl.engine.capture import Captured
from bison_ocl.engine.step import Engine
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.experiments.train.group import Group
from bison_ocl.experiments.train.run import Run, Saving
from bison_ocl.methods import METHODS
from bison_ocl.methods.er import ER
from bison_ocl.methods.method import Method
from bison_ocl.methods.settings import configured, settings_of
from bison_ocl.methods.start import first_state
from bison_ocl.nets.average import flat, unflat
from bison_ocl.state import State
from bison_ocl.stream.class_incremental import class_incremental
from tests.contract.test_resume import Stop, Watcher, dataset
from tests.learners import backbone, everything, herd, new, state
from tests.test_refused import SICK_SEED, SICK_STEP, sick
from tests.tiny import begin, images, same, snapshot, stream, without_a_graph

DECAY = 0.9
AVERAGED = sorted(set(METHODS) - {"gdumb"})


def averaging(name: str, **settings: Any) -> Method:
    return configured(name, None, {"average": DECAY} | settings)


def average(me: State) -> Tensor:
    assert me.average is not None
    return me.average


@pytest.mark.parametrize("name", AVERAGED)
def test_it_follows_the_weights_and_changes_no_training(name: str) -> None:
    """By a naive loop over steps and tensors: parameters and running statistics."""
    plain, method = configured(name, None, {"average": 0}), averaging(name)
    other, me = begin(plain), begin(method)
    expected, t = snapshot(me.net), 0
    assert other.average is None
    for task in stream():
        for batch in task:
            other, _ = Engine(plain).step(other, batch)
            me, _ = Engine(method).step(me, batch)
            decay = min(DECAY, (1 + t) / (10 + t))
            now = tree.named(me.net)
            expected = {k: decay * old + (1 - decay) * now[k] for k, old in expected.items()}
            t += 1
        me, other = Engine(method).end_task(me), Engine(plain).end_task(other)
    assert same(snapshot(replace(me, average=None)), snapshot(other))
    torch.testing.assert_close(tree.named(me.averaged().net), expected, rtol=1e-12, atol=1e-12)
    assert not torch.equal(average(me), flat(me.net))


@pytest.mark.parametrize("name", ["er", "bison", "ocm"])
def test_stacked_runs_average_as_they_do_alone(name: str) -> None:
    method = averaging(name)
    alone = [begin(method, seed) for seed in range(3)]
    stacked, many = (
        tree.stack([begin(method, s) for s in range(3)]),
        Engine(method, tree.vectorised),
    )
    for news in zip(*(stream(seed)[0] for seed in range(3)), strict=True):
        pairs = zip(alone, news, strict=True)
        alone = [Engine(method).step(me, new)[0] for me, new in pairs]
        stacked, _ = many.step(stacked, tree.stack(news))
    for seed, me in enumerate(alone):
        torch.testing.assert_close(average(stacked)[seed], average(me), rtol=1e-9, atol=1e-9)
        ours = tree.named(tree.pick(stacked.averaged(), seed).net)
        torch.testing.assert_close(ours, tree.named(me.averaged().net), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["er", "bison"])
def test_replayed_steps_average_as_eager_ones(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "recorded", without_a_graph)
    method = averaging(name)
    me, captured = begin(method), Captured(Engine(method), begin(method))
    for batch in stream()[0]:
        me, _ = Engine(method).step(me, batch)
        captured.step(batch)
        assert torch.equal(average(captured.me), average(me))
    assert captured.graphs


@pytest.mark.parametrize("stacked", [False, True])
def test_a_refused_step_leaves_it(stacked: bool) -> None:
    method = replace(sick(ER, "gradient"), average=DECAY)
    states = [begin(method, seed) for seed in range(2)]
    news: list[Any] = [
        tree.stack(pair) for pair in zip(*(stream(s)[0] for s in range(2)), strict=True)
    ]
    me, engine = tree.stack(states), Engine(method, tree.vectorised)
    if not stacked:
        me, news, engine = states[SICK_SEED], stream(SICK_SEED)[0], Engine(method)
    for step, batch in enumerate(news):
        before = average(me).clone()
        me, _ = engine.step(me, batch)
        kept = [torch.equal(a, b) for a, b in zip(before, average(me), strict=True)]
        if stacked:
            assert kept == [False, step == SICK_STEP]
        else:
            assert torch.equal(before, average(me)) is (step == SICK_STEP)
    assert average(me).isfinite().all()


def test_the_vector_is_the_network() -> None:
    me = begin(averaging("bison"))
    numbers = torch.arange(len(average(me)), dtype=torch.float64)
    assert torch.equal(flat(unflat(numbers, me.net)), numbers)
    assert torch.equal(average(me), flat(me.net))
    twice = tree.stack([me, me])
    both = torch.stack([numbers, numbers + 1])
    assert torch.equal(tree.vectorised(flat)(unflat(both, twice.net)), both)


# --- runs ---


def fresh(seed: int = 0, name: str = "bison", also: tuple[str, ...] = ()) -> Run:
    method = configured(name, None, {"filters": "2", "average": "0.9"})
    spec = Spec(name, "tiny", 20, seed, settings_of(method))
    return Run(spec, method, class_incremental(dataset(), seed), also=also)


@pytest.mark.parametrize("seeds", [1, 2])
def test_a_resumed_run_averages_bit_for_bit(seeds: int, tmp_path: Path) -> None:
    also = ("averaged", "averaged+ld-mirror")
    whole = [fresh(seed, also=also) for seed in range(seeds)]
    expected = Group(whole).train(Watcher())
    savings = [Saving(tmp_path / str(seed), every=1e-9) for seed in range(seeds)]
    with pytest.raises(Stop):
        Group([fresh(seed, also=also) for seed in range(seeds)]).train(Watcher(step=6), savings)
    again = [fresh(seed, also=also) for seed in range(seeds)]
    for run, saving in zip(again, savings, strict=True):
        run.resume(saving.path)
    found = Group(again).train(Watcher())
    for one, other in zip(whole, again, strict=True):
        assert torch.equal(average(one.me), average(other.me))
    assert [record.also for record in found] == [record.also for record in expected]


def test_a_record_holds_both_readouts_of_one_network() -> None:
    """The method's own rule reads the live weights."""
    (record,) = Group([run := fresh(name="er", also=("averaged", "averaged+ncm"))]).train(Watcher())
    (plain,) = Group([fresh(name="er")]).train(Watcher())
    assert record.accuracy == plain.accuracy
    assert list(record.also) == ["averaged", "averaged+ncm"]
    averaged, ncm = (scores.confusion for scores in record.also.values())
    assert averaged is not None
    assert averaged != record.confusion
    assert averaged != ncm
    test = run.stream.test(run.stream.tasks - 1)
    engine, me = Engine(run.method), run.me.averaged()
    right = engine.scores(me, engine.summarise(me), test.x).argmax(1) == test.y
    assert sum(row[i] for i, row in enumerate(averaged[-1])) == int(right.sum())


def test_the_model_of_a_run_predicts_by_the_average() -> None:
    Group([run := fresh()]).train(Watcher())
    x = run.stream.dataset.test.x
    engine, me = Engine(run.method), run.me.averaged()
    ids = engine.scores(me, engine.summarise(me), x).argmax(1).tolist()
    names = run.stream.dataset.class_names
    assert run.learner().predict(x) == [names[run.stream.order[i]] for i in ids]


# --- learners ---


@pytest.mark.parametrize("name", AVERAGED)
def test_it_grows_with_the_heads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one born with heads that large, a class met later included."""
    precise = partial(first_state, dtype=torch.float64)
    monkeypatch.setattr(bison_ocl.learner.origin, "first_state", precise)
    learners = []
    for rows in (2, 32):
        monkeypatch.setattr(bison_ocl.learner.training, "FIRST_CAPACITY", rows)
        learner = new(name, average=DECAY, backbone=None, filters=1)
        learner.observe(*herd(30))
        learner.observe(images(torch.arange(20) % 12, seed=3), range(20))
        learners.append(learner)
    one, other = map(state, learners)
    assert (one.classes, other.classes) == (32, 32)
    torch.testing.assert_close(average(one), average(other), rtol=1e-6, atol=1e-8)
    assert not torch.equal(average(one), flat(one.net))


@pytest.mark.parametrize("own", [True, False])
def test_a_saved_learner_keeps_it(own: bool, tmp_path: Path) -> None:
    module = backbone() if own else None
    learner = new(backbone=module, average=DECAY, **({} if own else {"filters": 2}))
    learner.observe(*herd(40))
    learner.save(tmp_path / "herd")
    again = Learner.load(tmp_path / "herd", backbone=module)
    for one in (learner, again):
        one.observe(*herd(30, classes=12, seed=1))
    assert same(everything(learner), everything(again))
    x = images(torch.arange(12))
    assert learner.predict(x) == again.predict(x)


def test_a_learner_predicts_by_the_average() -> None:
    one, other = new("er", average=DECAY), new("er")
    for learner in (one, other):
        learner.observe(*herd(60))
    x = images(torch.arange(8))
    assert same(snapshot(state(one).net), snapshot(state(other).net))
    assert not (one.predict_proba(x) == other.predict_proba(x)).all()
    me = state(one).averaged()
    scores = Engine(one.method).scores(me, (), x)[:, : len(one.labels)]
    assert torch.equal(torch.from_numpy(one.predict_proba(x)), scores.softmax(1))


@pytest.mark.parametrize("value", [1, 1.0, -0.1, 2, "1.5"])
def test_decays_out_of_range_are_refused(value: Any) -> None:
    with pytest.raises(UserError, match=r"average=.*: expected a number from 0 to below 1"):
        Learner("er", average=value)


def test_a_method_that_trains_when_it_is_asked_refuses_it() -> None:
    with pytest.raises(UserError, match="average has no effect on gdumb: leave it out"):
        Learner("gdumb", average=0.995)
