"""ER-ACE: stream images compete only with classes that are present or still unseen.

Caccia et al. 2022, "New Insights on Reducing Abrupt Representation Change in Online Continual ...".
The official code's variant: a cosine head of fixed scale 10, unseen classes stay in the stream's
softmax (the text keeps only the present ones), replay starts with the second step. As in every
method here, stream and memory pass separately, and class sets are masks, not index ranges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from bison_ocl.batch import Batch, present
from bison_ocl.look import SKY, Look
from bison_ocl.losses.cross_entropy import cross_entropy
from bison_ocl.methods.method import Method
from bison_ocl.nets.heads import Cosine, Head, Linear
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class ERACE(Method):
    """Asymmetric cross-entropy: masked on the stream, over all classes on the memory."""

    title = "ER-ACE"
    kind = "T"
    look = Look(SKY, "p", "--")
    head = "classifier"
    ace_head: Literal["cos10", "linear"] = "cos10"
    """cos10: cosines times 10, without bias; linear: as in ER"""
    ace_present_only: bool = False
    """mask unseen classes on the stream too, not only the seen ones that are absent"""

    def heads(self) -> Mapping[str, Head]:
        cosine = Cosine(10.0, trained=False)
        return {self.head: cosine if self.ace_head == "cos10" else Linear()}

    def loss(self, me: State, new: Batch, old: Batch) -> Tensor:
        z_new, z_old = self.features(me, new, old)
        return self.masked_ce(me, z_new, new.y) + self.ce(me, z_old, old.y, self.head)

    def stream_loss(self, me: State, new: Batch) -> Tensor:
        return self.masked_ce(me, me.net.features(new.x), new.y)

    def masked_ce(self, me: State, z: Tensor, y: Tensor) -> Tensor:
        """CE over the classes of this batch and, by default, the unseen ones."""
        classes = present(y, me.classes)
        if not (self.ace_present_only or self.ce_over_seen):
            classes = classes | (me.live & ~me.seen)
        return cross_entropy(me.net.logits(z, self.head), y, classes)
