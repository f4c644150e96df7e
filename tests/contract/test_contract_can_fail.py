"""Methods with one fault each, to see the contract notice it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.contract import (
    executions,
    learning,
    memory,
    pure,
    repeatable,
    returned,
    settings,
    tracing,
)
from bison_ocl.contract.checks import CHECKS, Check, fault, results
from bison_ocl.memory.memory import Write
from bison_ocl.methods.er import ER
from bison_ocl.methods.method import Method, Update
from bison_ocl.methods.nearest_mean import NearestMean
from bison_ocl.nets.net import Net
from bison_ocl.state import Extras, State

calls = count()


class Scaled(ER):
    """ER with its loss multiplied by a number that should be one."""

    def loss(self, me: State, new: Batch, old: Batch | None) -> Tensor:
        return super().loss(me, new, old) * self.scale(me, new)

    def scale(self, me: State, new: Batch) -> Any:
        raise NotImplementedError


class ElsewhereUnderVmap(Scaled):
    def scale(self, me: State, new: Batch) -> float:
        return 1 + 1e-8 * torch._C._functorch.is_batchedtensor(new.y)


class CountsCalls(Scaled):
    def scale(self, me: State, new: Batch) -> float:
        return 1 + 1e-8 * next(calls)


class DrawsFromTorch(Scaled):
    def scale(self, me: State, new: Batch) -> Tensor:
        return torch.rand(())


class ReadsOnTheHost(Scaled):
    def scale(self, me: State, new: Batch) -> float:
        return 1 + 0 * me.task.item()


class BranchesOnATensor(Scaled):
    def scale(self, me: State, new: Batch) -> float:
        return 2.0 if me.task > 0 else 1.0


class MakesAConstant(Scaled):
    def scale(self, me: State, new: Batch) -> Tensor:
        return torch.tensor(1.0)


class ForgetsTheDevice(Scaled):
    def scale(self, me: State, new: Batch) -> Tensor:
        return (new.y >= torch.arange(len(new))).any() + 1


class Grows(ER):
    def remember(self, me: State, old: Batch | None) -> dict[str, Tensor]:
        return {"labels": me.memory.y[:1]} if old else {}


class MovesStatistics(ER):
    def predict(self, me: State, summary: Any, x: Tensor) -> Tensor:
        return me.net(x, "linear", "train").masked_fill(~me.seen, -float("inf"))


class PredictsUnseen(ER):
    def predict(self, me: State, summary: Any, x: Tensor) -> Tensor:
        return me.net(x, "linear", "eval")


class ReplaysTheSpareRow(ER):
    def retrieve(self, me: State, new: Batch) -> Batch | None:
        old = super().retrieve(me, new)
        return old and old + Batch(me.memory.x[-1:], me.memory.y[-1:].clamp(0, me.classes - 1))


class ReplaysEmptyRows(ER):
    def retrieve(self, me: State, new: Batch) -> Batch | None:
        return me.memory.rows(torch.arange(me.memory.capacity)) if me.memory.filled else None


class AveragesTheSpareRow(NearestMean):
    def summarise(self, me: State) -> Any:
        full = replace(me.memory, filled=me.memory.capacity + 1)
        return self.rule.summarise(me.net, full, me.classes)


class StoresNothing(ER):
    def store(self, me: State, new: Batch) -> Write:
        write = super().store(me, new)
        assert write is not None
        return replace(write, slots=torch.full_like(write.slots, me.memory.capacity))


class WritesItsMemory(ER):
    def update(self, me: State, new: Batch) -> Update:
        me.memory.x[0] = new.x[0]
        return super().update(me, new)


class PredictsByItsBatch(ER):
    def predict(self, me: State, summary: Any, x: Tensor) -> Tensor:
        return me.net(x, "linear", "batch").masked_fill(~me.seen, -float("inf"))


class ScoresAtRandom(ER):
    """Too little to change a prediction."""

    def predict(self, me: State, summary: Any, x: Tensor) -> Tensor:
        return super().predict(me, summary, x) + 1e-9 * next(calls)


class ScoresFewerClasses(ER):
    def predict(self, me: State, summary: Any, x: Tensor) -> Tensor:
        return super().predict(me, summary, x)[:, :-1]


class LosesInAVector(Scaled):
    def scale(self, me: State, new: Batch) -> Tensor:
        return torch.ones_like(new.y[:1])


class LeavesGradientsOut(ER):
    def update(self, me: State, new: Batch) -> Update:
        found = super().update(me, new)
        return replace(found, grads={"linear": found.grads["linear"]})


class MisspellsItsExtra(ER):
    def extra(self, net: Net, classes: int) -> Extras:
        return {"count": torch.zeros(())}

    def remember(self, me: State, old: Batch) -> Extras:
        return {"cuont": me.extra["count"] + 1}


class ForgetsItsField(ER):
    def fields(self, net: Net, classes: int) -> dict[str, Tensor]:
        return {"score": torch.zeros(())}


class StoresHalf(ER):
    def store(self, me: State, new: Batch) -> Write:
        write = super().store(me, new)
        assert write is not None
        return replace(write, slots=write.slots[: len(new) // 2])


class StoresTwoInARow(StoresNothing):
    def store(self, me: State, new: Batch) -> Write:
        return replace(super().store(me, new), slots=torch.arange(len(new)) // 2)


class StoresOutside(StoresNothing):
    def store(self, me: State, new: Batch) -> Write:
        return replace(super().store(me, new), slots=torch.arange(len(new)) - 1)


class SettlesTooEarly(ER):
    """The best of as many candidates as there are, without saying when there are enough."""

    def retrieve(self, me: State, new: Batch) -> Batch | None:
        pool = me.memory.sample(me.key("retrieve"), 50)
        return pool and pool[-self.buffer_batch :]


class NeverSettles(ER):
    def settled_at(self, me: State) -> int:
        return 50


class ChangesItsBatch(ER):
    def update(self, me: State, new: Batch) -> Update:
        new.x.bitwise_not_()
        return super().update(me, new)


class ChangesItsState(ER):
    def update(self, me: State, new: Batch) -> Update:
        me.net.params["linear"]["bias"].add_(1)
        return super().update(me, new)


class EndsInPlace(ER):
    def end_task(self, me: State) -> State:
        me.net.params["linear"]["bias"].zero_()
        return me


class CountsUnseenRows(ER):
    def ce(self, me: State, z: Tensor, y: Tensor, head: str) -> Tensor:
        return F.cross_entropy(me.net.logits(z, head), y)


@dataclass(frozen=True, kw_only=True)
class LearnsNothing(ER):
    lr: float = 0.0


class RaisesLines(ER):
    def predict(self, me: State, summary: Any, x: Tensor) -> Tensor:
        raise ValueError("two\nlines")


class EndsElsewhereUnderVmap(ER):
    def end_task(self, me: State) -> State:
        off = 1e-8 * torch._C._functorch.is_batchedtensor(me.task)
        return replace(me, net=tree.map_leaves(lambda leaf: leaf * (1 + off), me.net))


class KeepsOutsideTheState(Scaled):
    """Counts steps in a place that no checkpoint holds."""

    def scale(self, me: State, new: Batch) -> float:
        return 1 + 1e-3 * next(calls)


@dataclass(frozen=True, kw_only=True)
class ForgetsTheType(ER):
    title = "Mine"
    lr = 0.5


@dataclass(frozen=True, kw_only=True)
class SetByWords(ER):
    title = "Mine"
    words: str = "any"


@dataclass(frozen=True, kw_only=True)
class PresetOfNothing(ER):
    presets: ClassVar[dict[str, dict[str, float]]] = {"split-digits": {"beta": 1.0}}


@dataclass(frozen=True, kw_only=True)
class ReadsNothing(ER):
    beta: float = 1.0


@dataclass(frozen=True, kw_only=True)
class IgnoresInVain(ER):
    ignores = ("lr",)


FAULTS: list[tuple[Check, type[Method]]] = [
    (executions.step_of_many, ElsewhereUnderVmap),
    (executions.step_of_many, CountsCalls),
    (executions.step_of_many, DrawsFromTorch),
    (executions.step_of_many, BranchesOnATensor),
    (executions.seed_among_others, CountsCalls),
    (executions.seeds_in_turn, CountsCalls),
    (repeatable.repeated, CountsCalls),
    (repeatable.repeated, DrawsFromTorch),
    (tracing.host_reads, ReadsOnTheHost),
    (tracing.host_reads, BranchesOnATensor),
    (tracing.host_reads, MakesAConstant),
    (tracing.device, ForgetsTheDevice),
    (tracing.one_graph, CountsCalls),
    (tracing.fixed_form, Grows),
    (tracing.one_graph, SettlesTooEarly),
    (tracing.one_graph, NeverSettles),
    (returned.step, LosesInAVector),
    (returned.step, LeavesGradientsOut),
    (returned.step, MisspellsItsExtra),
    (returned.step, ForgetsItsField),
    (returned.step, StoresHalf),
    (returned.step, StoresTwoInARow),
    (returned.step, StoresOutside),
    (pure.predicting, MovesStatistics),
    (pure.predicting, ScoresAtRandom),
    (pure.images_alone, PredictsByItsBatch),
    (pure.unseen_classes, ScoresFewerClasses),
    (pure.steps_and_ends, WritesItsMemory),
    (pure.unseen_classes, PredictsUnseen),
    (pure.steps_and_ends, ChangesItsBatch),
    (pure.steps_and_ends, ChangesItsState),
    (pure.steps_and_ends, EndsInPlace),
    (memory.empty_rows, ReplaysTheSpareRow),
    (memory.empty_rows, ReplaysEmptyRows),
    (memory.empty_rows, AveragesTheSpareRow),
    (memory.stream_images, StoresNothing),
    (learning.beats_chance, LearnsNothing),
    (learning.keeps_growing, PredictsUnseen),
    (repeatable.resumed, KeepsOutsideTheState),
    (executions.end_of_task_of_many, EndsElsewhereUnderVmap),
    (settings.declared, ElsewhereUnderVmap),
    (settings.declared, ForgetsTheType),
    (settings.presets, SetByWords),
    (settings.presets, PresetOfNothing),
    (settings.read, ReadsNothing),
    (settings.read, IgnoresInVain),
    (learning.grows, CountsUnseenRows),
]


@pytest.mark.parametrize(
    ("check", "broken"),
    FAULTS,
    ids=[f"{broken.__name__}-{check.__name__}" for check, broken in FAULTS],
)
def test_the_contract_notices(check: Check, broken: type[Method]) -> None:
    """Some faults torch or the engine refuse themselves."""
    assert fault(check, broken())


def test_a_fault_is_one_line_whatever_is_raised() -> None:
    assert fault(learning.beats_chance, ER()) is None
    found = fault(pure.unseen_classes, PredictsUnseen())
    assert found == "Broken: an unseen class scores > −∞"
    assert "\n" not in str(fault(executions.scores_of_many, RaisesLines()))


@pytest.mark.parametrize(
    ("check", "broken", "line"),
    [
        (
            returned.step,
            LosesInAVector,
            "the loss has shape [1]: return one number, such as a mean",
        ),
        (returned.step, StoresHalf, "`store` returns slots of shape [5] for 10 images"),
        (pure.steps_and_ends, WritesItsMemory, "a hook writes into the memory: return a Write"),
        (pure.unseen_classes, ScoresFewerClasses, "[60, 5], for images and classes [60, 6]"),
        (
            settings.presets,
            SetByWords,
            "words is of type str: expected bool, int, float or Literal",
        ),
    ],
)
def test_the_line_says_what_is_wrong(check: Check, broken: type[Method], line: str) -> None:
    assert line in str(fault(check, broken()))


def test_all_checks_are_made_of_a_method_that_breaks_some() -> None:
    found = list(results(RaisesLines()))
    assert len(found) == len(CHECKS)
    assert any(broken for _, broken in found)
    assert any(broken is None for _, broken in found)
