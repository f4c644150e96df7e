"""Methods with one fault each, to see the contract notice it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.memory.memory import Write
from bison_ocl.methods.er import ER
from bison_ocl.methods.method import Method, Update
from bison_ocl.methods.nearest_mean import NearestMean
from bison_ocl.nets.net import Net
from bison_ocl.state import State
from tests.contract import test_executions as executions
from tests.contract import test_learning as learning
from tests.contract import test_memory as memory
from tests.contract import test_pure as pure
from tests.contract import test_repeatable as repeatable
from tests.contract import test_tracing as tracing

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


class ChangesItsBatch(ER):
    def update(self, me: State, new: Batch) -> Update:
        new.x.bitwise_not_()
        return super().update(me, new)


class ChangesItsState(ER):
    def update(self, me: State, new: Batch) -> Update:
        me.net.params["linear"]["bias"].add_(1)
        return super().update(me, new)


class KeepsItsBatch(ER):
    def extra(self, net: Net, classes: int) -> dict[str, Any]:
        return {"last": torch.zeros(10, dtype=torch.int64)}

    def update(self, me: State, new: Batch) -> Update:
        return replace(super().update(me, new), extra={"last": new.y})


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


FAULTS: list[tuple[Callable[..., None], type[Method], tuple[Any, ...]]] = [
    (executions.test_a_step_looped_equals_vectorised, ElsewhereUnderVmap, ()),
    (executions.test_a_step_looped_equals_vectorised, CountsCalls, ()),
    (executions.test_a_step_looped_equals_vectorised, DrawsFromTorch, ()),
    (executions.test_a_step_looped_equals_vectorised, BranchesOnATensor, ()),
    (executions.test_a_vectorised_seed_alone_equals_among_others, CountsCalls, ()),
    (executions.test_a_looped_seed_alone_equals_among_others, CountsCalls, ()),
    (repeatable.test_a_run_repeated_is_bitwise_equal, CountsCalls, ()),
    (repeatable.test_a_run_repeated_is_bitwise_equal, DrawsFromTorch, ()),
    (tracing.test_a_step_traces_without_host_reads_and_constants, ReadsOnTheHost, (2,)),
    (tracing.test_a_step_traces_without_host_reads_and_constants, BranchesOnATensor, (2,)),
    (tracing.test_a_step_traces_without_host_reads_and_constants, MakesAConstant, (2,)),
    (tracing.test_a_step_stays_on_the_device_of_its_state, ForgetsTheDevice, ()),
    (tracing.test_one_trace_replays_to_the_end, CountsCalls, (4, None)),
    (tracing.test_a_step_keeps_the_form_of_its_state, Grows, ()),
    (pure.test_evaluation_changes_nothing, MovesStatistics, ()),
    (pure.test_an_unseen_class_is_never_predicted, PredictsUnseen, ()),
    (pure.test_a_step_changes_neither_its_batch_nor_its_state, ChangesItsBatch, ()),
    (pure.test_a_step_changes_neither_its_batch_nor_its_state, ChangesItsState, ()),
    (pure.test_a_step_keeps_no_hold_on_its_batch, KeepsItsBatch, ()),
    (pure.test_end_of_task_changes_nothing_in_place, EndsInPlace, ()),
    (memory.test_rows_without_an_image_are_never_read, ReplaysTheSpareRow, (0,)),
    (memory.test_rows_without_an_image_are_never_read, ReplaysEmptyRows, (0,)),
    (memory.test_rows_without_an_image_are_never_read, AveragesTheSpareRow, (0,)),
    (memory.test_rows_are_stream_images_with_their_labels, StoresNothing, ()),
    (learning.test_beats_chance_on_two_easy_tasks, LearnsNothing, ()),
    (learning.test_a_grown_run_equals_one_born_large, CountsUnseenRows, ()),
]


@pytest.mark.parametrize(
    ("check", "fault", "arguments"),
    FAULTS,
    ids=[f"{fault.__name__}-{check.__name__}" for check, fault, _ in FAULTS],
)
def test_the_contract_notices(
    check: Callable[..., None], fault: type[Method], arguments: tuple[Any, ...]
) -> None:
    """torch refuses some faults itself, with errors that are all RuntimeErrors."""
    with pytest.raises((AssertionError, RuntimeError)):
        check(fault(), *arguments)
