"""All attacks, how often each is made in full and in the tests, and what it is in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tests.faults.crowd import crowd
from tests.faults.kills import groups, single_runs
from tests.faults.mutated import TARGETS, mutated
from tests.faults.outcome import Attack
from tests.faults.writes import full_disk, write_errors


@dataclass(frozen=True)
class Planned:
    """An attack with the number of its tries."""

    attack: Attack
    full: int
    short: int
    unit: str = "files"


ATTACKS = {
    "SIGKILL of single runs": Planned(single_runs, 200, 4, "kills"),
    "SIGKILL of groups of two seeds": Planned(groups, 100, 3, "kills"),
    **{
        f"mutations: {name}": Planned(partial(mutated, make), 1000, 15)
        for name, make in TARGETS.items()
    },
    "full disk from any write on": Planned(full_disk, 10**6, 6, "runs, one for each write"),
    "a write error at any write": Planned(write_errors, 10**6, 6, "runs, one for each write"),
    "eight threads on one learner": Planned(crowd, 60, 2, "seconds"),
}
