"""BISON-ALD: BISON's losses on other images, read by a discriminant of the averaged weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from bison_ocl import Learner, UserError
from bison_ocl.batch import Batch, to_float
from bison_ocl.engine.step import Engine
from bison_ocl.experiments.train.score import OWN, confusions
from bison_ocl.inference.features import Views
from bison_ocl.inference.linear_discriminant import LinearDiscriminant
from bison_ocl.methods.bison import Bison
from bison_ocl.methods.bison_ald import BisonALD
from bison_ocl.methods.settings import configured
from bison_ocl.nets.net import Net
from tests.learners import herd
from tests.tiny import begin, held_out, same, snapshot, stream, train


def seen_by_the_network(method: Bison, monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """The batches that pass the network in the step after a memory of 20 is full."""
    me = train(method, begin(method), stream()[:1])
    passes: list[Tensor] = []
    features = Net.features

    def heard(self: Net, x: Tensor, mode: Any = "train") -> Tensor:
        passes.append(x.detach())
        return features(self, x, mode)

    monkeypatch.setattr(Net, "features", heard)
    Engine(method).step(me, stream()[1][0])
    return passes


def test_a_step_is_one_pass_of_forty_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten of the stream as they are, fifteen of the memory as they are, fifteen views of them."""
    (batch,) = seen_by_the_network(BisonALD(), monkeypatch)
    assert len(batch) == 40
    stored = train(BisonALD(), begin(BisonALD()), stream()[:1]).memory.x[:20]
    known = {tuple(x.flatten().tolist()) for x in to_float(stored, torch.float64)}
    assert torch.equal(batch[:10], to_float(stream()[1][0].x, torch.float64))
    assert all(tuple(x.flatten().tolist()) in known for x in batch[10:25])
    assert not all(tuple(x.flatten().tolist()) in known for x in batch[25:])


def test_the_first_step_sees_the_stream_alone() -> None:
    (only,) = BisonALD().view(begin(BisonALD()), new := stream()[0][0])
    assert torch.equal(only.x, to_float(new.x, torch.float64))
    assert torch.equal(only.y, new.y)


def test_the_loss_is_bisons() -> None:
    me = train(BisonALD(), begin(BisonALD()), stream()[:1])
    new, old = stream()[1][:2]
    views = [Batch(to_float(batch.x, torch.float64), batch.y) for batch in (new, old)]
    assert torch.equal(BisonALD().loss(me, *views), Bison(joint=True).loss(me, *views))


def test_it_predicts_by_a_discriminant_of_the_averaged_weights() -> None:
    method = BisonALD(average=0.9)
    me = train(method, begin(method), stream())
    (found,) = confusions(Engine(method), me, [held_out()])
    rule, net = LinearDiscriminant(views=Views(mirror=True)), me.averaged().net
    scores = rule.scores(net, rule.summarise(net, me.memory, 4), to_float(held_out().x, net.dtype))
    assert found[OWN] == Engine(method).count(me, held_out(), scores).tolist()
    assert not same(snapshot(net), snapshot(me.net))


def test_presets_are_bisons_and_what_it_does_not_read_is_refused() -> None:
    for data in ("split-cifar10", "split-cifar100"):
        ours, papers = configured("bison-ald", data, {}), configured("bison", data, {})
        assert isinstance(ours, Bison)
        assert isinstance(papers, Bison)
        assert (ours.beta, ours.lambda_) == (papers.beta, papers.lambda_)
    with pytest.raises(UserError, match="ncm_normalise has no effect on bison-ald"):
        Learner("bison-ald", ncm_normalise=False)


def test_a_learner_predicts_as_a_run_is_tested() -> None:
    learner = Learner("bison-ald", memory=20, filters=2, classes=4)
    learner.observe(*herd(60))
    x, y = herd(20, seed=2)
    found = learner.predict(x)
    assert learner._training.me is not None
    order = learner.labels
    test = Batch(x, torch.tensor([order.index(label) for label in y]))
    (counts,) = confusions(Engine(learner.method), learner._training.me, [test])
    right = sum(row[i] for i, row in enumerate(counts[OWN]))
    assert sum(a == b for a, b in zip(found, y, strict=True)) == right
