"""Base class of methods: hooks whose defaults are experience replay (Chaudhry et al. 2019).

Hooks see one run and are pure; the engine loops over runs or vectorises them, and writes memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from torch import Tensor

from bison_ocl.batch import Batch, to_float
from bison_ocl.bounds import Decay, Positive, Presets
from bison_ocl.card import Card
from bison_ocl.inference.rule import Summary
from bison_ocl.losses.cross_entropy import cross_entropy
from bison_ocl.memory.memory import Write
from bison_ocl.memory.reservoir import reservoir
from bison_ocl.nets.heads import Head, Linear
from bison_ocl.nets.net import Backbone, Net, Params
from bison_ocl.nets.optimiser import SGD, Optimiser
from bison_ocl.nets.precision import Precision
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.state import Extras, State
from bison_ocl.views.augment import augment


@dataclass(frozen=True)
class Update:
    """The result of one step: loss, gradient, and values to keep."""

    loss: Tensor
    grads: Params
    extra: Extras = field(default_factory=dict)
    """new values of the method's extras"""
    fields: dict[str, Tensor] = field(default_factory=dict)
    """one row per item of the stream batch, stored with it in the memory's extra fields"""

    @classmethod
    def none(cls, me: State) -> Update:
        """A step that learns nothing."""
        return cls(torch.zeros_like(me.step, dtype=me.net.dtype), me.net.zeros())


@dataclass(frozen=True, kw_only=True)
class Method(Card):
    """Experience replay: cross-entropy on the stream batch and on a batch from the memory."""

    presets: ClassVar[Presets] = {}
    """settings by dataset that differ from the defaults below"""
    replays: ClassVar[bool] = True
    """whether the method keeps a memory"""
    head: ClassVar[str] = "linear"
    """the head that learns from the stream and, by default, predicts"""
    boundaries: ClassVar[bool] = False
    """whether training uses the ends of tasks"""
    ignores: ClassVar[tuple[str, ...]] = ()
    """common settings that this method does not read"""
    reads_average: ClassVar[bool] = False
    """whether its own rule of inference reads the averaged weights"""

    lr: Positive = 0.1
    """learning rate of SGD"""
    stream_batch: int = 10
    """stream images per step"""
    buffer_batch: int = 10
    """memory images per step"""
    filters: int = 20
    """filters of the ResNet-18's first stage: 20 (reduced) or 64"""
    view_mode: Literal["append", "replace"] = "append"
    """train on originals and augmented images, or on augmented ones only"""
    joint: bool = False
    """one forward pass for stream and memory together, so that they share batch statistics"""
    ce_over_seen: bool = False
    """softmax over the seen classes only (the paper's formula), not over all (its numbers)"""
    exact_reservoir: bool = False
    """count item by item in the reservoir, not batch by batch"""
    average: Decay = 0.0
    """decay per step of an average of the weights; 0 for no average"""

    # --- what a run starts from ---

    def backbone(
        self, shape: tuple[int, ...], precision: Precision = "tf32", fused: bool = False
    ) -> Backbone:
        """The network for images of a shape; fused: with the kernels for many small networks."""
        channels, height, width = shape
        return ResNet18(self.filters, (channels, height, width), precision, fused)

    def heads(self) -> Mapping[str, Head]:
        return {"linear": Linear()}

    def scalars(self) -> Mapping[str, float]:
        return {}

    def optimiser(self) -> Optimiser:
        return SGD(self.lr)

    def extra(self, net: Net, classes: int) -> Extras:
        """Initial values of the method's extras; `net` is the fresh network."""
        return {}

    def fields(self, net: Net, classes: int) -> dict[str, Tensor]:
        """One example row of each extra field of the memory."""
        return {}

    def numbered(self, me: State, order: Tensor) -> State:
        """The state with the dataset's class ids [C], which few methods use."""
        return me

    # --- one step ---

    def retrieve(self, me: State, new: Batch) -> Batch | None:
        """The images to replay; None while the memory is empty."""
        return me.memory.sample(me.key("retrieve"), self.buffer_batch)

    def settled_at(self, me: State) -> int:
        """The number of filled rows after which no shape of a step changes."""
        return min(self.buffer_batch, me.memory.capacity)

    def view(self, me: State, *batches: Batch, name: str = "view") -> list[Batch]:
        """The network's input for each batch: [original; augmented]. One call augments all."""
        images = to_float(torch.cat([batch.x for batch in batches]), me.net.dtype)
        sizes = [len(batch) for batch in batches]
        changed = torch.split(augment(me.key(name), images), sizes)
        if self.view_mode == "replace":
            return [Batch(x, b.y) for x, b in zip(changed, batches, strict=True)]
        originals = torch.split(images, sizes)
        return [
            Batch(torch.cat([x, seen]), torch.cat([b.y, b.y]))
            for x, seen, b in zip(originals, changed, batches, strict=True)
        ]

    def features(self, me: State, new: Batch, old: Batch) -> tuple[Tensor, Tensor]:
        """z_D and z_M: the stream's forward pass first, then the memory's; or one for both."""
        if self.joint:
            z = me.net.features(torch.cat([new.x, old.x]))
            return z[: len(new)], z[len(new) :]
        z_new, z_old = me.net.features_apart(new.x, old.x)
        return z_new, z_old

    def ce(self, me: State, z: Tensor, y: Tensor, head: str) -> Tensor:
        """Cross-entropy of one head on features z."""
        return cross_entropy(me.net.logits(z, head), y, self.softmax_classes(me))

    def softmax_classes(self, me: State) -> Tensor:
        """Mask of the classes of the softmax."""
        return me.seen if self.ce_over_seen else me.live

    def loss(self, me: State, new: Batch, old: Batch) -> Tensor:
        """CE on the stream batch plus CE on the memory batch: a sum of means."""
        z_new, z_old = self.features(me, new, old)
        return self.ce(me, z_new, new.y, self.head) + self.ce(me, z_old, old.y, self.head)

    def stream_loss(self, me: State, new: Batch) -> Tensor:
        """CE on the stream batch: the loss while there is nothing to replay."""
        return self.ce(me, me.net.features(new.x), new.y, self.head)

    def update(self, me: State, new: Batch) -> Update:
        """The gradient of the loss on views of the stream batch and of what is replayed."""
        old = self.retrieve(me, new)
        if old is None:
            return Update(*me.grad(self.stream_loss, *self.view(me, new)))
        loss, grads = me.grad(self.loss, *self.view(me, new, old))
        return Update(loss, grads, self.remember(me, old))

    def remember(self, me: State, old: Batch) -> Extras:
        """New values of the method's extras after a replay."""
        return {}

    def store(self, me: State, new: Batch) -> Write | None:
        """Where the stream batch enters the memory, after the optimiser's step; None: nowhere."""
        return reservoir(me.key("store"), me.memory, len(new), self.exact_reservoir)

    # --- between tasks, and at test time ---

    def end_task(self, me: State) -> State:
        return me

    def summarise(self, me: State) -> Summary:
        """The summary for predicting, computed once per evaluation."""
        return ()

    def fits(self, me: State) -> int:
        """The number of `fit` steps on the summary, for methods that train at test time."""
        return 0

    def fit(self, me: State, summary: Summary, turn: Tensor) -> Summary:
        """Training step number `turn` at test time; it changes only the summary."""
        return summary

    def network(self, me: State, summary: Summary) -> Net:
        """The network that predicts."""
        return me.net

    def predict(self, me: State, summary: Summary, x: Tensor) -> Tensor:
        """Scores [B, C]; classes not seen yet get −∞."""
        logits = self.network(me, summary)(x, self.head, "eval")
        return logits.masked_fill(~me.seen, -float("inf"))

    def log(self, me: State) -> dict[str, Tensor]:
        """Numbers to log at task ends: the trained scales η of the heads."""
        heads = me.net.design.heads
        scales = {f"eta_{head}": me.net.params[head].get("scale") for head in heads}
        return {name: scale for name, scale in scales.items() if scale is not None}
