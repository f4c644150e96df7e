"""Nearest class mean: known numbers, a naive loop, chunks, unknown classes, ties."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.inference import features
from bison_ocl.inference.centred_class_mean import CentredClassMean
from bison_ocl.inference.nearest_class_mean import Means, NearestClassMean
from bison_ocl.inference.rules import RULES
from bison_ocl.memory.memory import Memory, empty
from bison_ocl.nets.net import Net
from tests.inference.flat import flat_net, many, memory_of, showing
from tests.tiny import same, snapshot

AnyRule = NearestClassMean | CentredClassMean


def class_means(net: Net, memory: Memory, classes: int, normalise: bool) -> Means:
    return NearestClassMean(normalise).summarise(net, memory, classes)


def nearest_mean(z: Tensor, means: Means, normalise: bool) -> Tensor:
    """Scores of images whose features are z."""
    return NearestClassMean(normalise).scores(flat_net(z.shape[-1]), means, showing(z))


EXAMPLE = memory_of([[4, 0], [0, 1], [1, 2]], [0, 0, 1], capacity=5)
QUERY = torch.tensor([[3.0, 4]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("normalise", "means", "distances"),
    [
        (False, [[2, 0.5], [1, 2]], [13.25, 8]),
        (True, [[0.707107, 0.707107], [0.447214, 0.894427]], [0.0201010, 0.0322602]),
    ],
)
def test_known_values(normalise: bool, means: list, distances: list) -> None:
    summary = class_means(flat_net(2), EXAMPLE, 2, normalise)
    torch.testing.assert_close(
        summary.means, torch.tensor(means, dtype=torch.float64), rtol=0, atol=5e-7
    )
    scores = nearest_mean(QUERY, summary, normalise)
    assert (-scores[0]).tolist() == pytest.approx(distances, abs=5e-8)
    assert scores.argmax() == (0 if normalise else 1)


def test_a_class_without_a_stored_image_is_never_nearest() -> None:
    summary = class_means(flat_net(2), EXAMPLE, 4, True)
    assert summary.known.tolist() == [True, True, False, False]
    z = torch.randn(200, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    scores = nearest_mean(z, summary, True)
    assert (scores[:, 2:] == -torch.inf).all()
    assert scores[:, :2].isfinite().all()


@pytest.mark.parametrize("normalise", [True, False])
def test_an_empty_memory_knows_no_class(normalise: bool) -> None:
    memory = empty(5, (1, 1, 2), {}, torch.device("cpu"))
    summary = class_means(flat_net(2), memory, 3, normalise)
    assert summary.means.shape == (3, 2)
    assert not summary.known.any()
    assert (nearest_mean(QUERY, summary, normalise) == -torch.inf).all()


def test_ties_go_to_the_lowest_class() -> None:
    summary = class_means(flat_net(2), memory_of([[1, 0], [0, 1], [1, 0]], [1, 2, 3]), 4, True)
    queries = torch.tensor([[1.0, 0], [0, 1], [1, 1]], dtype=torch.float64)
    assert nearest_mean(queries, summary, True).argmax(1).tolist() == [1, 2, 1]


def naive(memory: Memory, z: Tensor, classes: int, rule: AnyRule) -> list[list[float]]:
    """Distances by loops over queries, classes and stored images."""

    def shaped(v: Tensor) -> Tensor:
        raw = isinstance(rule, NearestClassMean) and not rule.normalise
        return v if raw else v / v.norm()

    def mean_of(rows: list[Tensor]) -> Tensor:
        return sum(rows, torch.zeros(6, dtype=torch.float64)) / len(rows)

    def views(query: Tensor) -> list[Tensor]:
        seen = [query, query.flip(0)] if rule.views.mirror else [query]
        parts = [F.interpolate(one[None, None, :5], size=6, mode="linear")[0, 0] for one in seen]
        return seen + parts if rule.views.crop < 1 else seen

    features = [shaped(row.flatten().double()) for row in memory.x[: memory.filled]]
    labels = memory.y[: memory.filled].tolist()
    if rule.views.mirror:  # a reversed row is the feature of a mirrored image
        features, labels = [*features, *(f.flip(0) for f in features)], labels * 2

    def of_class(c: int) -> Tensor:
        return mean_of([f for f, y in zip(features, labels, strict=True) if y == c])

    z = torch.stack([shaped(mean_of([shaped(view) for view in views(query)])) for query in z])
    if isinstance(rule, CentredClassMean):
        centre = mean_of([of_class(c) for c in range(classes)])
        features = [shaped(f - centre) for f in features]
        z = torch.stack([shaped(query - centre) for query in z])
    means = [shaped(of_class(c)) for c in range(classes)]
    return [[(query - mean).square().sum().item() for mean in means] for query in z]


@pytest.mark.parametrize("name", [name for name in RULES if name.startswith("ncm")])
def test_equals_a_naive_loop(name: str) -> None:
    memory, rule, net = many(40, 5), RULES[name], flat_net(6)
    assert isinstance(rule, AnyRule)
    z = 255 * torch.rand(7, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    scores = rule.scores(net, rule.summarise(net, memory, 5), showing(z))
    expected = torch.tensor(naive(memory, z, 5, rule), dtype=torch.float64)
    torch.testing.assert_close(-scores, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [499, 500, 501, 1203])
def test_chunks_equal_one_go(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = many(n, 7)
    chunked = class_means(flat_net(6), memory, 7, True)
    monkeypatch.setattr(features, "CHUNK", 10**6)
    monkeypatch.setattr(features, "ON_CPU", 10**9)
    whole = class_means(flat_net(6), memory, 7, True)
    torch.testing.assert_close(chunked.means, whole.means)
    assert torch.equal(chunked.known, whole.known)


@pytest.mark.parametrize("side", [1, 8, 32, 84, 500])
@pytest.mark.parametrize("n", [0, 1, 65, 501, 1203])
def test_chunks_are_all_images_in_order_and_few_pixels(side: int, n: int) -> None:
    x = torch.arange(n)[:, None, None, None].expand(n, 3, side, side)
    chunks = features.in_chunks(x)
    assert torch.equal(torch.cat(chunks), x)
    sizes = [len(chunk) for chunk in chunks]
    assert max(sizes) <= 500
    assert max(sizes) * side * side <= 2**16 or max(sizes) == 1
    assert max(sizes) - min(sizes) <= 1


def test_a_pass_on_a_gpu_takes_as_many_pixels_whatever_the_images() -> None:
    sizes = [features.at_once(side * side, on_gpu=True) for side in (8, 32, 84)]
    assert sizes == [16384, 1024, 148]
    assert features.at_once(2000 * 2000, on_gpu=True) == 1


def test_means_change_neither_network_nor_memory() -> None:
    net, memory = flat_net(6), many(20, 3)
    before = snapshot((net, memory))
    class_means(net, memory, 3, True)
    assert same(snapshot((net, memory)), before)


def test_lengths_do_not_matter_once_normalised() -> None:
    summary = class_means(flat_net(2), EXAMPLE, 2, True)
    torch.testing.assert_close(
        nearest_mean(7 * QUERY, summary, True), nearest_mean(QUERY, summary, True)
    )


def test_scores_work_under_vmap() -> None:
    summary = Means(torch.rand(3, 2, dtype=torch.float64), torch.tensor([True, False, True]))
    z = torch.rand(4, 5, 2, dtype=torch.float64)
    together = torch.func.vmap(lambda z: nearest_mean(z, summary, True))(z)
    torch.testing.assert_close(together, torch.stack([nearest_mean(q, summary, True) for q in z]))
