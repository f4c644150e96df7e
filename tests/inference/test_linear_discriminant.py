"""The linear discriminant: a naive loop, scikit-learn, few images, one image a class, no images."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
import torch
import torch.nn.functional as F
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from torch import Tensor

from bison_ocl import tree
from bison_ocl.inference.centred_class_mean import CentredClassMean
from bison_ocl.inference.features import MemoryFeatures
from bison_ocl.inference.linear_discriminant import LinearDiscriminant, discriminant
from bison_ocl.inference.nearest_class_mean import NearestClassMean
from bison_ocl.inference.rules import RULES
from bison_ocl.memory.memory import Memory, empty
from bison_ocl.nets.norm import Mode
from bison_ocl.tree import Tensors
from tests.inference.flat import flat_net, many, memory_of, showing
from tests.tiny import Flat

NET = flat_net(6)


@dataclass(frozen=True)
class Brightness(Flat):
    """The bytes divided by their sum, which is 0 for a black image."""

    def __call__(
        self, params: Tensors, stats: Tensors, x: Tensor, mode: Mode, parts: int = 1
    ) -> tuple[Tensor, Tensors]:
        z, stats = super().__call__(params, stats, x, mode, parts)
        return z / z.sum(1, keepdim=True), stats


def queries(n: int = 7) -> Tensor:
    return 255 * torch.rand(n, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def scored(rule: LinearDiscriminant, memory: Memory, classes: int, z: Tensor) -> Tensor:
    return rule.scores(NET, rule.summarise(NET, memory, classes), showing(z))


def unit(v: Tensor) -> Tensor:
    return v / v.norm()


def rows_of(memory: Memory, mirror: bool) -> tuple[list[Tensor], list[int]]:
    """Unit features of the stored images, and of their mirror images."""
    rows = [unit(row.flatten().double()) for row in memory.x[: memory.filled]]
    labels = memory.y[: memory.filled].tolist()
    return ([*rows, *(row.flip(0) for row in rows)], labels * 2) if mirror else (rows, labels)


def views_of(query: Tensor, rule: LinearDiscriminant) -> list[Tensor]:
    """An image to classify, its mirror image, and the central five pixels of six of each."""
    views = [query, query.flip(0)] if rule.views.mirror else [query]
    if rule.views.crop == 1:
        return views
    return views + [
        F.interpolate(view[None, None, :5], size=6, mode="linear")[0, 0] for view in views
    ]


def mean_of(rows: list[Tensor]) -> Tensor:
    return sum(rows, torch.zeros(6, dtype=torch.float64)) / len(rows)


def naive(memory: Memory, z: Tensor, classes: int, rule: LinearDiscriminant) -> Tensor:
    """log-likelihood ratios by loops over classes and images, with an inverted matrix."""
    rows, labels = rows_of(memory, rule.views.mirror)

    def means_of(rows: list[Tensor]) -> list[Tensor]:
        pairs = list(zip(rows, labels, strict=True))
        return [mean_of([row for row, label in pairs if label == c]) for c in range(classes)]

    centre = mean_of(means_of(rows))

    def seen(v: Tensor) -> Tensor:
        return unit(v - centre) if rule.centred else v

    rows = [seen(row) for row in rows]
    means = means_of(rows)
    spread = torch.zeros(6, 6, dtype=torch.float64)
    for row, label in zip(rows, labels, strict=True):
        spread += torch.outer(row - means[label], row - means[label]) / len(rows)
    spread += rule.shrinkage * spread.trace() / 6 * torch.eye(6, dtype=torch.float64)
    means = [unit(mean) for mean in means] if rule.centred else means
    inverse, table = torch.linalg.inv(spread), []
    for query in z:
        u = seen(unit(mean_of([unit(view) for view in views_of(query, rule)])))
        table.append([float(m @ inverse @ u - m @ inverse @ m / 2) for m in means])
    return torch.tensor(table, dtype=torch.float64)


@pytest.mark.parametrize("name", [name for name in RULES if name.startswith("ld")])
def test_equals_a_naive_loop(name: str) -> None:
    rule, memory, z = RULES[name], many(40, 5, capacity=50), queries()
    assert isinstance(rule, LinearDiscriminant)
    found = scored(rule, memory, 5, z)
    torch.testing.assert_close(found, naive(memory, z, 5, rule), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "shrinkage"), [("ld", 3), ("ld-centred", 1)])
@pytest.mark.parametrize("views", ["", "-mirror", "-crop"])
def test_the_shrinkage_of_each_name_is_the_documented_one(
    name: str, views: str, shrinkage: float
) -> None:
    rule = RULES[name + views]
    assert isinstance(rule, LinearDiscriminant)
    assert rule.shrinkage == shrinkage


def test_agrees_with_scikit_learn() -> None:
    """Its shrinkage s gives (1 − s)·Σ + s·m·I, so ours is s = 3/4, with four times its scores.

    It weighs classes alike, we images: equal where all classes have as many.
    """
    rows = torch.randint(0, 256, (60, 6), generator=torch.Generator().manual_seed(0))
    memory, z = memory_of(rows.tolist(), list(range(4)) * 15), queries(20)
    features, labels = rows_of(memory, mirror=False)
    judge = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.75, priors=[0.25] * 4)
    judge.fit(torch.stack(features).numpy(), labels)
    theirs = torch.from_numpy(judge.decision_function((z / z.norm(dim=1, keepdim=True)).numpy()))
    ours = scored(LinearDiscriminant(), memory, 4, z)
    ours, theirs = (scores - scores[:, :1] for scores in (4 * ours, theirs))
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("centred", [True, False])
def test_fewer_images_than_numbers_in_a_feature_or_than_classes(centred: bool) -> None:
    for n, classes in ((4, 2), (3, 10), (1, 3)):
        memory = many(n, classes)
        found = scored(LinearDiscriminant(centred=centred), memory, classes, queries())
        known = sorted(set(memory.y[:n].tolist()))
        assert found[:, known].isfinite().all()
        unknown = [c for c in range(classes) if c not in known]
        assert (found[:, unknown] == -torch.inf).all()


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("copies", [1, 3])
def test_without_spread_it_is_the_nearest_class_mean(copies: int, centred: bool) -> None:
    """One image a class, or several that are equal: there is no covariance to speak of."""
    rows = [[9, 1, 3, 200, 7, 7], [0, 50, 80, 1, 90, 3], [33, 33, 33, 0, 0, 250]] * copies
    memory = memory_of(rows, [0, 1, 2] * copies)
    ncm = CentredClassMean() if centred else NearestClassMean()
    expected = ncm.scores(NET, ncm.summarise(NET, memory, 3), showing(queries(50)))
    found = scored(LinearDiscriminant(centred=centred), memory, 3, queries(50))
    assert torch.equal(found.argmax(1), expected.argmax(1))
    assert found.isfinite().all()


@pytest.mark.parametrize("centred", [True, False])
def test_one_image_of_a_class_beside_many_of_others(centred: bool) -> None:
    lonely, others = [9, 1, 3, 200, 7, 7], [[i, 50, 80, 1, 90, 3] for i in range(9)]
    memory = memory_of([lonely, *others], [0, *[1] * 9])
    rule, shown = LinearDiscriminant(centred=centred), torch.tensor([lonely, others[4]])
    found = scored(rule, memory, 2, shown.double())
    assert found.isfinite().all()
    assert found.argmax(1).tolist() == [0, 1]


def test_a_small_spread_counts_like_a_large_one() -> None:
    """A factor s of all distances from the class means is a factor 1 / s² of the scores."""
    generator = torch.Generator().manual_seed(0)
    means, noise = (torch.rand(n, 6, dtype=torch.float64, generator=generator) for n in (3, 30))
    labels = F.one_hot(torch.arange(30) % 3).double()
    noise = noise - labels @ (labels.T @ noise) / 10
    large, small = (
        discriminant(MemoryFeatures(labels @ means + s * noise, labels), 3.0, None)
        for s in (1, 1e-9)
    )
    torch.testing.assert_close(1e-18 * small.weight, large.weight, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("shrinkage", [1e-12, 1e-30, 1e-320])
def test_a_shrinkage_that_rounding_loses_leaves_the_covariance_invertible(shrinkage: float) -> None:
    """Two features that are always equal: without shrinkage the covariance is singular."""
    rows = torch.randint(0, 256, (30, 3), generator=torch.Generator().manual_seed(0))
    memory = memory_of(torch.cat([rows, rows], 1).tolist(), [0, 1, 2] * 10)
    found = scored(LinearDiscriminant(shrinkage), memory, 3, queries())
    assert found.isfinite().all()


@pytest.mark.parametrize("name", sorted(RULES))
def test_classes_without_images_do_not_move_the_others(name: str) -> None:
    rule, memory, x = RULES[name], many(30, 4), showing(queries())
    few, more = (rule.scores(NET, rule.summarise(NET, memory, n), x) for n in (4, 9))
    torch.testing.assert_close(more[:, :4], few)
    assert (more[:, 4:] == -torch.inf).all()


@pytest.mark.parametrize("name", sorted(RULES))
def test_an_empty_row_does_not_count_whatever_its_features(name: str) -> None:
    """`filled` is an upper bound; a backbone may give NaN for the black image of an empty row."""
    memory, rule = many(12, 3, capacity=20), RULES[name]
    memory.x[12:].zero_()
    net = replace(NET, design=replace(NET.design, backbone=Brightness(6)))
    expected, found = (
        rule.scores(net, rule.summarise(net, memory, 3), showing(queries()))
        for memory in (memory, replace(memory, filled=20))
    )
    assert expected.isfinite().all()
    assert torch.equal(found, expected)


@pytest.mark.parametrize("name", sorted(RULES))
def test_an_empty_memory_knows_no_class(name: str) -> None:
    rule, memory = RULES[name], empty(5, (1, 1, 6), {}, torch.device("cpu"))
    found = rule.scores(NET, rule.summarise(NET, memory, 3), showing(queries()))
    assert (found == -torch.inf).all()


@pytest.mark.parametrize("name", sorted(RULES))
def test_rules_work_under_vmap_and_change_nothing(name: str) -> None:
    rule = RULES[name]
    memories = [many(20, 3, capacity=30) for _ in range(2)]
    before = [tree.map_leaves(torch.clone, memory) for memory in memories]

    def both(net: object, memory: Memory, x: Tensor) -> Tensor:
        return rule.scores(NET, rule.summarise(NET, memory, 3), x)

    stacked = tree.stack([(NET, memory, showing(queries())) for memory in memories])
    found = tree.vectorised(both)(*stacked)
    for i, memory in enumerate(memories):
        torch.testing.assert_close(found[i], both(NET, memory, showing(queries())))
        pairs = zip(tree.leaves(memory), tree.leaves(before[i]), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs)
