"""A few of each attack; `make faults` makes them all and writes docs/RELIABILITY.md."""

from __future__ import annotations

import pytest

from tests.faults.attacks import ATTACKS


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_finds_a_fault(name: str) -> None:
    planned = ATTACKS[name]
    outcome = planned.attack(planned.short, 1)
    assert outcome.made >= planned.short
    assert outcome.faults == {}
