"""Steps never make the host wait: no number is read, no shape depends on a value, nothing is moved.

On a CPU nobody waits; what would make the host wait for a GPU is seen by its operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bison_ocl.experiments.train.group import Group
from bison_ocl.methods import METHODS
from tests.contract.test_resume import Stop, Watcher, fresh

aten = torch.ops.aten
READS = {aten._local_scalar_dense, aten.item, aten.equal, aten.is_nonzero}
SHAPES = {aten.nonzero, aten.masked_select, aten.unique_dim, aten._unique2}
CONSTANTS = {aten.lift_fresh}
"""made from numbers of the host, so copied to a GPU"""


UNSEEN = ("cpu", "numpy", "tolist")
"""methods that pass by the operators where the tensor is on a CPU"""


class Waits(TorchDispatchMode):
    """Notes what would make the host wait for a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.seen, self.patch = 0, pytest.MonkeyPatch()

    def __enter__(self) -> Waits:
        for name in UNSEEN:
            self.patch.setattr(torch.Tensor, name, self._noting(getattr(torch.Tensor, name)))
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.patch.undo()

    def _noting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(tensor: torch.Tensor, *rest: Any) -> Any:
            self.found.append(method.__name__)
            return method(tensor, *rest)

        return noted

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs, packet = kwargs or {}, func.overloadpacket
        by_mask = packet in (aten.index, aten.index_put, aten.index_put_) and any(
            index is not None and index.dtype in (torch.bool, torch.uint8) for index in args[1]
        )
        if packet in READS | SHAPES | CONSTANTS or by_mask:
            self.found.append(str(func))
        self.seen += 1
        return func(*args, **kwargs)


class Listener(Watcher):
    """Listens to the steps of the second task, all but the first, which fetches its indices."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__()
        self.first, self.last, self.waits = first, last, Waits()

    def stepped(self, task: int, step: int) -> None:
        if step == self.first:
            self.waits.__enter__()
        if step == self.last:
            self.waits.__exit__(None, None, None)
            raise Stop


@pytest.mark.parametrize("seeds", [1, 2])
@pytest.mark.parametrize("name", sorted(METHODS))
def test_no_step_of_the_second_task_waits(name: str, seeds: int) -> None:
    listener = Listener(5, 8)
    with pytest.raises(Stop):
        Group([fresh(name, seed) for seed in range(seeds)]).train(listener)
    assert listener.waits.seen > 3
    assert listener.waits.found == []


def test_what_waits_is_found() -> None:
    x = torch.arange(3)
    with Waits() as waits:
        _ = int(x[0]), x[x > 1], x.nonzero(), torch.tensor(1), x.cpu(), x.tolist(), bool(x[1])
    assert len(waits.found) == 7, waits.found
    before = len(waits.found)
    assert x.tolist() == [0, 1, 2]
    assert len(waits.found) == before


@pytest.mark.parametrize("seeds", [1, 5])
def test_around_a_step_the_host_launches_a_handful_whatever_the_number_of_runs(seeds: int) -> None:
    group, listener = Group([fresh("finetune", seed) for seed in range(seeds)]), Listener(5, 8)
    loss = torch.zeros(seeds) if seeds > 1 else torch.zeros(())
    group.stepper.step = lambda new: loss  # type: ignore[method-assign]
    with pytest.raises(Stop):
        group.train(listener)
    assert listener.waits.seen / 3 <= 8  # of these one gathers the images and one adds the loss
