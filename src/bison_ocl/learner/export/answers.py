"""A snapshot as a module: images to label index, scores and probabilities.

Only tensors that predicting reads become part of it, so no image of the memory can.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

from bison_ocl import tree
from bison_ocl.batch import to_float
from bison_ocl.inference.rule import Summary
from bison_ocl.learner.snapshot import Snapshot
from bison_ocl.nets.net import Net
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.state import State

Input = Literal["uint8", "float32"]
INPUTS: tuple[Input, ...] = get_args(Input)


class Answers(nn.Module):
    """What a snapshot predicts, in float32 on the CPU, whatever it was learned with."""

    def __init__(self, snapshot: Snapshot, input: Input) -> None:
        super().__init__()
        self._snapshot = on_cpu(snapshot)
        self._bytes = input == "uint8"
        read, images = Read(), self.example()
        with read, torch.no_grad():
            self(images)
        for path, leaf in tree.named(self._tree).items():
            if id(leaf) in read.tensors:
                self.register_buffer(name_of(path), leaf)

    @property
    def _tree(self) -> dict[str, Any]:
        return {"state": self._snapshot.me, "summary": self._snapshot.summary}

    def example(self) -> Tensor:
        """Two images, because a batch of one would be taken for a fixed size."""
        x = torch.zeros((2, *self._snapshot.me.memory.x.shape[1:]), dtype=torch.uint8)
        return x if self._bytes else to_float(x)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """images: [B, 3, H, W], bytes or floats in [0, 1], which are rounded as `predict` does."""
        x = images if self._bytes else (images.clamp(0, 1) * 255).round() / 255
        own = dict(self.named_buffers())
        now = tree.walk(lambda path, leaf: own.get(name_of(path), leaf), self._tree)
        scores = self._snapshot.by_label(self._scores(**now, x=to_float(x)))
        return scores.argmax(1), scores, self._snapshot.probabilities(scores)

    def _scores(self, state: State, summary: Summary, x: Tensor) -> Tensor:
        """Scores in one pass: the engine's chunks would fix the size of a batch."""
        method, rule = self._snapshot.engine.method, self._snapshot.rule
        if rule is None:
            return method.predict(state, summary, x)
        return rule.scores(method.network(state, summary[0]), summary[1], x)


class Read(TorchFunctionMode):
    """Notes the tensors that functions of torch are called with."""

    def __init__(self) -> None:
        super().__init__()
        self.tensors: set[int] = set()

    def __torch_function__(
        self, f: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        tree_map_only(Tensor, lambda one: self.tensors.add(id(one)), (args, kwargs))
        return f(*args, **(kwargs or {}))


def name_of(path: str) -> str:
    """A leaf's path as the name of a buffer, which has no dots."""
    return path.replace(".", "_")


def on_cpu(snapshot: Snapshot) -> Snapshot:
    """The same snapshot with tensors on the CPU and layers of PyTorch's own operators."""
    me, summary = tree.map_leaves(lambda leaf: leaf.detach().cpu(), (snapshot.me, snapshot.summary))
    return replace(snapshot, me=replace(me, net=portable(me.net)), summary=portable(summary))


def portable(value: Any) -> Any:
    """Networks without kernels of ours and without bfloat16, which few runtimes know."""
    if isinstance(value, tuple):
        return tuple(portable(one) for one in value)
    if isinstance(value, Net) and isinstance(value.design.backbone, ResNet18):
        backbone = replace(value.design.backbone, precision="fp32", fused=False)
        return replace(value, design=replace(value.design, backbone=backbone))
    return value
