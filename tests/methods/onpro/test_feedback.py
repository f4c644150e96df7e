"""Prototypical feedback: what is mixed with what, how often, and nothing before prototypes."""

from __future__ import annotations

import torch
from scipy import stats
from torch import Tensor

from bison_ocl.batch import Batch, to_float
from bison_ocl.memory.memory import Memory
from bison_ocl.methods.onpro.feedback import Feedback
from bison_ocl.methods.onpro.mixup import Mixed
from bison_ocl.rng import key_of

CLASSES, ROWS = 3, 30


def memory() -> Memory:
    """Class c holds images of brightness 20 c + 1, so that a mixture tells its parts."""
    y = torch.arange(ROWS + 1) % CLASSES
    x = (20 * y + 1).to(torch.uint8)[:, None, None, None].expand(-1, 3, 2, 2).clone()
    return Memory(x, y, torch.tensor(ROWS), {}, ROWS)


HELD = memory()
OLD = Batch(to_float(HELD.x[:10], torch.float64), HELD.y[:10])
FAR = torch.eye(CLASSES, 4, dtype=torch.float64)


def mixed(step: int, feedback: Feedback, prototypes: Tensor = FAR) -> Mixed:
    return feedback(key_of(0, step, "feedback"), HELD, OLD, prototypes)


def brightness(y: Tensor) -> Tensor:
    return (20 * y + 1).double() / 255


def test_every_item_is_what_its_labels_say() -> None:
    for step in range(20):
        found = mixed(step, Feedback(0.75, 0.6))
        assert found.x.shape == OLD.x.shape
        parts = torch.lerp(brightness(found.first), brightness(found.second), found.share)
        torch.testing.assert_close(found.x, parts[:, None, None, None].expand_as(found.x))


def test_the_first_part_is_mixed_within_itself_or_not_at_all() -> None:
    mixing = []
    for step in range(300):
        found = mixed(step, Feedback(0.75, 0.6))
        assert torch.equal(found.first[:7], OLD.y[:7])
        assert sorted(found.second[:7].tolist()) == sorted(OLD.y[:7].tolist())
        shares = found.share[:7]
        assert (shares < 0.6).all()
        assert not shares.any() or (shares > 0).sum() >= 6
        mixing.append(bool(shares.any()))
    assert 150 < sum(mixing) < 210


def test_the_rest_are_pairs_of_classes() -> None:
    shares = []
    for step in range(300):
        found = mixed(step, Feedback(0.7, 0.6))
        assert (found.first[7:] < found.second[7:]).all()
        shares.append(found.share[7:])
    share = torch.stack(shares).flatten()
    assert 0.54 < (share > 0).double().mean() < 0.66
    drawn = share[share > 0].numpy()
    assert stats.kstest(drawn, stats.beta(0.4, 0.4).cdf).pvalue > 0.01


def test_close_classes_are_mixed_more_often() -> None:
    near = FAR.clone()
    near[1] = near[0] + torch.tensor([0, 0, 0, 0.3])
    for step in range(10):
        found = mixed(step, Feedback(0.0, 1.0), near)
        pairs = [pair == [0, 1] for pair in zip_lists(found)]
        assert sum(pairs) >= 8


def zip_lists(found: Mixed) -> list[list[int]]:
    return torch.stack([found.first, found.second], 1).tolist()


def test_never_and_always_mixing() -> None:
    for step in range(5):
        assert not mixed(step, Feedback(0.5, 0.0)).share.any()
        assert (mixed(step, Feedback(0.0, 1.0)).share > 0).all()


def test_without_prototypes_the_batch_is_left_alone() -> None:
    found = mixed(0, Feedback(0.5, 1.0), torch.zeros_like(FAR))
    assert torch.equal(found.x, OLD.x)
    assert torch.equal(found.first, OLD.y)
    assert torch.equal(found.second, OLD.y)
    assert not found.share.any()


def test_all_of_a_batch_may_be_mixed_within_itself() -> None:
    assert mixed(0, Feedback(1.0, 1.0)).first.tolist() == OLD.y.tolist()
