"""Mine: experience replay whose memory batch counts more.

Author et al. 2026, "The title of the paper".
Say here which variant this is: the code it follows, and what differs on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.bounds import Positive
from bison_ocl.look import BLUE, Look
from bison_ocl.methods.method import Method
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class Mine(Method):
    """One line: what it replays, what it stores, how it predicts."""

    # Facts, without a type: what tables and figures know of the method.
    title = "Mine"
    look = Look(BLUE, "*")

    # Settings, with a type: --set weight=3, Learner(Mine, weight=3).
    # The line below each says what it is.
    weight: Positive = 2.0
    """weight of the loss on the memory batch"""

    # Hooks. Their defaults, in bison_ocl/methods/method.py, are experience replay: override only
    # what differs. A hook sees one run, `me`, and returns values: it changes nothing in place,
    # draws by me.key("name"), and takes masks (me.seen, me.old, me.new) for sets of classes.

    def loss(self, me: State, new: Batch, old: Batch) -> Tensor:
        """CE on the stream batch plus `weight` times CE on the memory batch."""
        z_new, z_old = self.features(me, new, old)
        stream, memory = self.ce(me, z_new, new.y, self.head), self.ce(me, z_old, old.y, self.head)
        return stream + self.weight * memory
