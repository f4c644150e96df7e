"""Images held back from learning, so that confidence can be compared with accuracy on them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from bison_ocl.learner.arrival import Arrival
from bison_ocl.learner.labels.names import Names

EVERY = 10
"""one of so many images may be held back"""


def place_in(turn: int) -> int:
    """Which image of a turn of ten may be held back.

    It is drawn: a fixed place would hold back one label alone of a stream with labels in turn.
    """
    return int(EVERY * random.Random(turn).random())


@dataclass(frozen=True)
class HeldBack:
    """At most `room` images, as many of each label as of any other, that no step learns from."""

    room: int
    kept: tuple[Arrival, ...] = ()
    offered: int = 0
    """images so far; every ten are a turn"""

    def share(self, arrivals: Sequence[Arrival]) -> tuple[HeldBack, list[Arrival]]:
        """Hold back one arrival in ten, if its label has too few; the others go on to learning."""
        if not self.room:
            return self, list(arrivals)
        held_back, others = self, []
        for arrival in arrivals:
            turn, place = divmod(held_back.offered, EVERY)
            held_back = replace(held_back, offered=held_back.offered + 1)
            if place == place_in(turn) and held_back.wants(arrival.label):
                held_back = held_back.with_arrival(arrival)
            else:
                others.append(arrival)
        return held_back, others

    def wants(self, label: Hashable) -> bool:
        counts = self.counts
        return counts[label] < max(1, self.room // len({label, *counts}))

    def with_arrival(self, arrival: Arrival) -> HeldBack:
        """These and one more; if all places are taken, the label with most loses its oldest."""
        kept = self.kept
        if len(kept) == self.room:
            ((largest, _),) = self.counts.most_common(1)
            oldest = next(i for i, other in enumerate(kept) if other.label == largest)
            kept = kept[:oldest] + kept[oldest + 1 :]
        return replace(self, kept=(*kept, arrival))

    def without(self, ids: Names, labels: Names) -> HeldBack:
        return replace(self, kept=tuple(a for a in self.kept if not a.is_named(ids, labels)))

    @property
    def counts(self) -> Counter[Hashable]:
        return Counter(arrival.label for arrival in self.kept)
