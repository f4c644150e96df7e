"""Methods that predict by class means over their memory."""

from __future__ import annotations

import pytest
import torch

from bison_ocl.batch import to_float
from bison_ocl.engine.step import Engine
from bison_ocl.methods.nearest_mean import NearestMean
from tests.tiny import begin, held_out, stream, train


@pytest.mark.parametrize("normalise", [True, False])
def test_prediction_is_the_nearest_mean_of_stored_features(normalise: bool) -> None:
    method = NearestMean(ncm_normalise=normalise)
    me = train(method, begin(method), stream())

    def features(x: torch.Tensor) -> torch.Tensor:
        z = me.net.features(to_float(x, torch.float64), "eval")
        return z / z.norm(dim=1, keepdim=True) if normalise else z

    z, y = features(me.memory.x[:20]), me.memory.y[:20]
    means = torch.stack([z[y == c].mean(0) for c in range(4)])
    if normalise:
        means = means / means.norm(dim=1, keepdim=True)
    expected = torch.cdist(features(held_out().x), means).argmin(1)
    engine = Engine(method)
    scores = engine.scores(me, engine.summarise(me), held_out().x)
    assert torch.equal(scores.argmax(1), expected)


def test_a_class_that_left_the_memory_is_not_predicted() -> None:
    method = NearestMean()
    me = train(method, begin(method), stream())
    me.memory.y[me.memory.y == 0] = 1
    engine = Engine(method)
    assert me.seen.all()
    assert (engine.confusion(me, held_out())[:, 0] == 0).all()
