"""Trees of tensors: walked, named, stacked, picked, pasted, vectorised."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor

from bison_ocl import tree


@dataclass(frozen=True)
class Leafy:
    """A tree of every kind of node, with things that are no leaves in between."""

    a: Tensor
    b: dict[str, Tensor] = field(default_factory=dict)
    c: tuple[Tensor, ...] = ()
    count: int = 3
    note: str | None = None


def leafy(offset: float = 0.0) -> Leafy:
    a = torch.arange(3.0) + offset
    return Leafy(a, {"x": a * 2, "y": a.sum()}, (a + 1, a[:2]), note="kept")


def test_named_gives_paths_in_field_order() -> None:
    found = tree.named({"net": leafy()})
    assert list(found) == ["net.a", "net.b.x", "net.b.y", "net.c.0", "net.c.1"]
    assert tree.named(torch.ones(2)).keys() == {""}
    assert tree.named((1, "two", None)) == {}


def test_leaves_are_the_tensors_themselves() -> None:
    grown = leafy()
    assert tree.leaves(grown)[0] is grown.a


def test_map_leaves_changes_tensors_and_nothing_else() -> None:
    old = leafy()
    new = tree.map_leaves(lambda leaf: leaf + 1, old)
    assert isinstance(new, Leafy)
    assert (new.count, new.note) == (3, "kept")
    assert isinstance(new.c, tuple)
    assert torch.equal(new.b["x"], old.b["x"] + 1)
    assert torch.equal(old.a, torch.arange(3.0))


def test_rebuilt_takes_leaves_in_order() -> None:
    old = leafy()
    values = [leaf * 10 for leaf in tree.leaves(old)]
    for given, got in zip(values, tree.leaves(tree.rebuilt(old, values)), strict=True):
        assert got is given


def test_copied_has_the_same_values_of_every_dtype_in_other_memory() -> None:
    old = (leafy(), {"y": torch.arange(4), "rows": torch.zeros(0, 3), "turned": torch.eye(3).T})
    new, expected = tree.copied(old), tree.map_leaves(torch.clone, old)
    for leaf in tree.leaves(old):
        leaf.fill_(9)
    for one, other in zip(tree.leaves(new), tree.leaves(expected), strict=True):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)
    assert new[0].note == "kept"


def test_pick_undoes_stack() -> None:
    runs = [leafy(0), leafy(5), leafy(7)]
    stacked = tree.stack(runs)
    assert stacked.a.shape == (3, 3)
    for i, run in enumerate(runs):
        for one, other in zip(tree.leaves(run), tree.leaves(tree.pick(stacked, i)), strict=True):
            assert torch.equal(one, other)


def test_a_picked_run_shares_no_memory_with_the_stack() -> None:
    stacked = tree.stack([leafy(), leafy(1)])
    tree.pick(stacked, 0).a.fill_(9)
    assert torch.equal(stacked.a[0], torch.arange(3.0))


def test_stack_refuses_trees_of_other_shape() -> None:
    with pytest.raises(ValueError, match="zip"):
        tree.stack([{"a": torch.ones(1)}, {"a": torch.ones(1), "b": torch.ones(1)}])


def test_paste_keeps_the_old_corner_and_the_new_rest() -> None:
    old = {"w": torch.ones(2, 3), "s": torch.tensor(4.0), "b": torch.ones(2)}
    new = {"w": torch.zeros(4, 3), "s": torch.tensor(0.0), "b": torch.full((3,), -1.0)}
    grown = tree.paste(old, new)
    assert grown["w"].tolist() == [[1, 1, 1], [1, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert grown["s"] == 4
    assert grown["b"].tolist() == [1, 1, -1]
    assert torch.equal(new["w"], torch.zeros(4, 3))


def test_paste_keeps_what_is_no_leaf() -> None:
    assert tree.paste({"n": 1, "x": torch.ones(1)}, {"n": 2, "x": torch.zeros(2)})["n"] == 1


def test_vectorised_equals_a_loop() -> None:
    def f(one: Leafy, other: dict[str, Tensor]) -> dict[str, object]:
        return {"sum": one.a + other["z"], "tree": one, "fixed": one.count, "none": None}

    runs = [leafy(0), leafy(5)]
    others = [{"z": torch.tensor(float(i))} for i in range(2)]
    together = tree.vectorised(f)(tree.stack(runs), tree.stack(others))
    assert together["fixed"] == 3
    assert together["none"] is None
    for i in range(2):
        alone = tree.named(f(runs[i], others[i]))
        for name, leaf in tree.named(tree.pick(together, i)).items():
            assert torch.equal(leaf, alone[name])


def test_vectorised_may_return_nothing() -> None:
    assert tree.vectorised(lambda one: ())(torch.ones(2)) == ()


def test_sums_and_inner_products_go_leaf_by_leaf() -> None:
    one, other = {"a": torch.arange(3.0), "b": (torch.tensor(2.0),)}, leafy()
    total = tree.add(one, {"a": torch.ones(3), "b": (torch.tensor(0.5),)})
    assert total["a"].tolist() == [1, 2, 3]
    assert total["b"][0] == 2.5
    vectors = [torch.cat([leaf.flatten() for leaf in tree.leaves(t)]) for t in (leafy(1), other)]
    assert tree.dot(leafy(1), other) == vectors[0] @ vectors[1]


def test_vmap_is_seen_through_differentiation_and_where_there_is_none_it_is_not() -> None:
    found = []

    def loss(x: Tensor) -> Tensor:
        found.append(tree.under_vmap(x * 2))
        return (x * x).sum()

    torch.func.vmap(loss)(torch.ones(2, 3))
    torch.func.vmap(torch.func.grad(loss))(torch.ones(2, 3))
    torch.func.grad(loss)(torch.ones(3))
    loss(torch.ones(3, requires_grad=True))
    assert found == [True, True, False, False]
