# %% [markdown]
"""
# Write a method

A method is one class. The defaults of `Method` are experience replay: cross-entropy on the stream
batch and on a random batch of a reservoir memory. You override the hooks in which your method
differs. This page writes two methods: DER++ (Buzzega et al. 2020), which stores logits with its
images, and a method with an averaged teacher (Tarvainen & Valpola 2017). Save the code as
`mine.py`. Then

- `bison-ocl check mine.py:DarkExperience` runs the contract on it: many seeds equal one, `predict`
  changes nothing, a resumed run equals an uninterrupted one, and so on;
- `bison-ocl run mine.py:DarkExperience --data split-digits --memory 100` trains it;
- `Learner(DarkExperience)` uses it in a program.

Three rules keep a method correct for one seed, for many seeds at once and in a CUDA graph:

1. A hook is pure. It sees the state of one run, `me`, and returns values; it changes nothing in
   place.
2. Random draws come from `me.key("name")`, never from a global generator.
3. A set of classes is a mask (`me.seen`, `me.old`, `me.new`, `me.live`), never a range of indices.
"""

# %%
from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.bounds import Decay, Positive
from bison_ocl.look import BLUE, GREEN, Look
from bison_ocl.methods.method import Method, Update
from bison_ocl.nets.net import Net
from bison_ocl.state import Extras, State

# %% [markdown]
"""
## DER++: fields of the memory

DER++ stores with each image the logits that the network gave it, and later keeps the network near
them:

> L = CE(stream) + α · MSE(logits of x1, stored logits of x1) + β · CE(x2, y2)

with two random memory batches x1 and x2.

`title` and `look` are facts about the class, for tables and figures. The typed fields are settings:
`--set alpha=0.5`, or `Learner(DarkExperience, alpha=0.5)`. A line below each says what it is.

Two hooks differ from experience replay:

- `fields` gives one example row of what the memory stores with an image: here the logits, and a
  mask of the classes that had a logit at the time. The head of a `Learner` grows with the classes
  it meets; the mask makes the new columns of old rows count as missing.
- `update` computes loss and gradient. `grad_with` also returns tensors that the loss keeps, here
  the logits of the stream batch. `Update.fields` hands them to the memory, one row per stream
  image.

`ce_of` and `matching` are functions of our own. `self.view` puts each batch and an augmented copy
of it into one batch: [original; augmented].
"""


# %%
@dataclass(frozen=True, kw_only=True)
class DarkExperience(Method):
    """Replays labels and stored logits (Buzzega et al. 2020, DER++); reservoir, linear head."""

    title = "My DER++"
    look = Look(BLUE, "*")
    ignores = ("joint",)

    lr: Positive = 0.03
    """learning rate of SGD"""
    alpha: float = 0.2
    """weight of the distance to stored logits"""
    beta: float = 0.5
    """weight of cross-entropy on the memory"""

    def fields(self, net: Net, classes: int) -> dict[str, Tensor]:
        """One row: the logits of an image, and which classes had one."""
        row = torch.zeros_like(net.params[self.head]["bias"])
        return {"logits": row, "known": row.bool()}

    def update(self, me: State, new: Batch) -> Update:
        # `filled` is a number of the host, so code may branch on it.
        n = min(self.buffer_batch, me.memory.filled)
        slots = [me.memory.draw(me.key(name), n) for name in ("logits", "labels") if n]
        views = self.view(me, new, *(me.memory.rows(rows) for rows in slots))

        def loss(net: Net) -> tuple[Tensor, dict[str, Tensor]]:
            logits = [net(view.x, self.head) for view in views]
            total = self.ce_of(me, logits[0], views[0].y)
            if n:
                total = total + self.alpha * self.matching(me, logits[1], slots[0])
                total = total + self.beta * self.ce_of(me, logits[2], views[2].y)
            return total, {"logits": logits[0][: len(new)] * me.live}

        value, grads, kept = me.net.grad_with(loss)
        known = me.live.expand_as(kept["logits"])
        return Update(value, grads, fields=kept | {"known": known})

    def ce_of(self, me: State, logits: Tensor, y: Tensor) -> Tensor:
        """Cross-entropy over the classes that the losses cover."""
        return F.cross_entropy(logits.masked_fill(~self.softmax_classes(me), -float("inf")), y)

    def matching(self, me: State, logits: Tensor, slots: Tensor) -> Tensor:
        """Mean squared distance to stored logits, over the classes that had one."""
        stored, known = (me.memory.fields[name][slots] for name in ("logits", "known"))
        times = len(logits) // len(slots)  # original and augmented view share a target
        squares = (logits - stored.repeat(times, 1)).square() * known.repeat(times, 1)
        return squares.sum() / (times * known.sum()).clamp(min=1)


# %% [markdown]
"""
`ignores` lists common settings that the class does not read: `joint` asks for one forward pass over
all batches, which `update` above never makes. `bison-ocl check` finds such settings; a run that
sets one is refused, so that no record claims a variant that never ran.

The package's own [`derpp`](../api/methods/derpp.md) adds one thing: it can draw one memory batch
for both losses.

## An averaged teacher: extras of the state

The second method distils from an exponential average of its own weights (Tarvainen & Valpola 2017;
in online continual learning, Michel et al. 2024): the teacher changes slowly, so it remembers
longer.

- `extra` gives what a method keeps between steps: any tree of tensors, here a second network. The
  engine saves it in checkpoints, stacks it over seeds and grows its heads with new classes.
- `remember` returns new values of the extras after a replay. The optimiser has not stepped yet, so
  the teacher averages the weights up to the previous step.
- `loss` adds a distance between the two networks' logits on the memory batch. The teacher predicts
  in mode `eval`: it uses its running statistics and changes nothing.
"""


# %%
@dataclass(frozen=True, kw_only=True)
class AveragedTeacher(Method):
    """Replay, and distillation from averaged weights (Tarvainen & Valpola 2017, mean teacher)."""

    title = "Averaged teacher"
    look = Look(GREEN, "*")

    decay: Decay = 0.99
    """decay per step of the teacher's average"""
    weight: float = 1.0
    """weight of the distance to the teacher's logits"""

    def extra(self, net: Net, classes: int) -> Extras:
        return {"teacher": net.copy()}

    def loss(self, me: State, new: Batch, old: Batch) -> Tensor:
        """CE on the stream, CE on the memory, MSE to the teacher on the memory."""
        z_new, z_old = self.features(me, new, old)
        replay = self.ce(me, z_new, new.y, self.head) + self.ce(me, z_old, old.y, self.head)
        student = me.net.logits(z_old, self.head)
        teacher = me.extra["teacher"](old.x, self.head, "eval").detach()
        squares = (student - teacher).square() * self.softmax_classes(me)
        return replay + self.weight * squares.sum(1).mean() / self.softmax_classes(me).sum()

    def remember(self, me: State, old: Batch) -> Extras:
        """The teacher, one step further."""
        before, now = tree.leaves(me.extra["teacher"]), tree.leaves(me.net)
        pairs = zip(before, now, strict=True)
        averaged = [
            torch.lerp(a, b, 1 - self.decay) if a.is_floating_point() else b for a, b in pairs
        ]
        return {"teacher": tree.rebuilt(me.net, averaged)}


# %% [markdown]
"""
## Compare them

```sh
bison-ocl run finetune --data split-digits --memory 100 --seeds 0-2 --out mine
bison-ocl run er --data split-digits --memory 100 --seeds 0-2 --out mine
bison-ocl run mine.py:DarkExperience --data split-digits --memory 100 --seeds 0-2 --out mine
bison-ocl run mine.py:AveragedTeacher --data split-digits --memory 100 --seeds 0-2 --out mine
bison-ocl report mine
```

Records keep the title and a checksum of the file; choose another `--out` after you change the file.
"""
