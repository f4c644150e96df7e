"""Execution of steps on a device: the layers of a network, and how its steps run.

On a CPU, PyTorch's layers run operator by operator. On a GPU with Triton, fused layers run as
replayed CUDA graphs, compiled first if a folder is given. The caller's own module runs operator by
operator everywhere: its Python may wait for the device, which no graph can capture.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import torch

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine.eager import Eager
from bison_ocl.engine.pace import Pace
from bison_ocl.engine.rounding import ROUNDING
from bison_ocl.engine.scoring import alone
from bison_ocl.engine.step import Engine
from bison_ocl.methods.method import Method
from bison_ocl.nets.net import Backbone
from bison_ocl.nets.precision import Precision
from bison_ocl.state import State


def is_cuda(device: str) -> bool:
    return torch.device(device).type == "cuda"


@dataclass(frozen=True)
class Execution:
    """A device and its execution of steps, for runs, learners and benchmarks."""

    device: str = "cpu"
    precision: Precision = "tf32"
    compiled_in: Path | None = None
    """the folder for compiled steps; None to compile none"""
    own_module: bool = False
    """whether the caller's own module is the backbone"""

    @property
    def fuses(self) -> bool:
        """Whether our kernels run: on a GPU with Triton, which PyTorch includes on Linux."""
        return is_cuda(self.device) and find_spec("triton") is not None and not self.own_module

    @property
    def captures(self) -> bool:
        """Whether steps are captured as CUDA graphs and replayed."""
        return is_cuda(self.device) and not self.own_module

    @property
    def compiles(self) -> bool:
        """Whether steps are compiled before they are captured."""
        return self.captures and self.compiled_in is not None

    def backbone(self, method: Method, shape: tuple[int, ...]) -> Backbone:
        """The network of a method for images of a shape, with the device's layers."""
        return method.backbone(shape, self.precision, fused=self.fuses)

    def engine(self, method: Method, stacked: bool = False) -> Engine:
        """The engine of one run or of a stack of runs."""
        each = tree.vectorised if stacked else alone
        if not self.captures:
            return Engine(method, each)
        from bison_ocl.engine.capture import replayed

        return Engine(method, each, replayed)

    def stepper(self, engine: Engine, me: State) -> Eager:
        """An object that steps a state: eager or captured."""
        if not self.captures:
            return Eager(engine, me)
        from bison_ocl.engine.capture import Captured

        return Captured(engine, me, self.compiled_in)

    def moved(self, batch: Batch) -> Batch:
        """The batch on the device, moved via page-locked memory so that the host never waits."""
        if batch.x.device.type == torch.device(self.device).type:
            return batch
        return tree.map_leaves(
            lambda leaf: leaf.pin_memory().to(self.device, non_blocking=True), batch
        )

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make this device current inside the block, with float32 rounding as chosen.

        A caller's autocast is off inside: it would compute in another precision than the chosen.
        So is a caller's default device, because tensors without a named device are the CPU's here.
        """
        with torch.autocast(torch.device(self.device).type, enabled=False), cpu_by_default():
            if not is_cuda(self.device):
                yield
                return
            with ROUNDING.chosen(self.precision), torch.cuda.device(self.device):
                yield

    def wait(self) -> None:
        """Wait until the work that this thread queued on a GPU is done."""
        if is_cuda(self.device):
            torch.cuda.current_stream(self.device).synchronize()

    def pace(self) -> Pace | None:
        """A limit on how many steps are queued; None where steps run at once."""
        return Pace() if is_cuda(self.device) else None

    @contextmanager
    def ahead_of_steps(self) -> Iterator[None]:
        """Inside the block, let this thread's work on a GPU run before steps that are queued.

        The block must wait for its own results, and read only tensors that are complete.
        """
        with self.active():
            if not is_cuda(self.device):
                yield
                return
            with torch.cuda.stream(urgent_stream(torch.cuda.current_device())):
                yield


def cpu_by_default() -> AbstractContextManager[object]:
    """Inside the block, new tensors are on the CPU; it costs nothing where they are anyway."""
    elsewhere = torch.get_default_device().type != "cpu"
    return torch.device("cpu") if elsewhere else nullcontext()


@cache
def urgent_stream(device: int) -> torch.cuda.Stream:
    """The stream of predictions, one for all threads: libraries keep a workspace per stream."""
    return torch.cuda.Stream(device, priority=-1)  # type: ignore[no-untyped-call]
