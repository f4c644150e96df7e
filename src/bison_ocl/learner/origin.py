"""Fresh states of a learner: the first one, larger ones as heads grow, and forms of files."""

from __future__ import annotations

from dataclasses import replace

from bison_ocl.errors import UserError
from bison_ocl.learner.arguments import Arguments
from bison_ocl.learner.growth import grown, unlearned
from bison_ocl.memory.removal import numbered
from bison_ocl.methods.start import first_state
from bison_ocl.nets.module import ModuleBackbone
from bison_ocl.nets.net import Backbone
from bison_ocl.state import State


class Origin:
    """Makes the states of one learner, all with the same backbone."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments
        self._backbone: Backbone | None = None

    def state(
        self, shape: tuple[int, ...], rows: int, closed: bool, device: str | None = None
    ) -> State:
        """A state for images of a shape, with heads of so many rows."""
        made = self.arguments
        if self._backbone is None:
            self._backbone = (
                made.execution.backbone(made.method, shape)
                if made.module is None
                else ModuleBackbone(made.module, shape, made.normalise)
            )
        me = first_state(
            made.method,
            made.seed,
            self._backbone,
            rows,
            made.replayed,
            shape,
            closed=closed,
            device=device or made.execution.device,
        )
        return replace(me, memory=numbered(me.memory))

    def form(self, shape: tuple[int, ...], rows: int, closed: bool) -> State:
        """A state on the meta device: the expected tensors of a file, without memory."""
        try:
            return self.state(shape, rows, closed, "meta")
        except (RuntimeError, OverflowError) as error:
            raise UserError(
                "the file describes a network that is too large: use another copy"
            ) from error

    def larger(self, me: State) -> State:
        """The state with heads of twice as many rows; the old ones are kept."""
        shape = tuple(me.memory.x.shape[1:])
        return grown(me, self.state(shape, 2 * me.classes, me.closed))

    def unlearned(self, me: State, numbers: list[int]) -> State:
        """The state in which the classes of these numbers are unseen."""
        shape = tuple(me.memory.x.shape[1:])
        wider = self.form(shape, 2 * me.classes, me.closed)
        return unlearned(me, self.state(shape, me.classes, me.closed), wider, numbers)

    def start_from(self, me: State) -> None:
        """Let fresh states of the caller's module start with the weights of a state."""
        if isinstance(self._backbone, ModuleBackbone):
            self._backbone.start_from(me.net.params["backbone"], me.net.stats)
