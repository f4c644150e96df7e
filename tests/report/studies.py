"""Studies of synthetic records, as `folder.load` would give them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from bison_ocl.experiments.records.record import Record
from bison_ocl.report.study.entry import Entry, by_rule, with_intransigence
from bison_ocl.report.study.study import Study
from tests.report.records import records


def study(*items: str, seeds: int = 2, warnings: Sequence[str] = ()) -> Study:
    """Some items, each with its FINE-TUNE references."""
    return Study({item: prepared(records(item, seeds)) for item in items}, list(warnings))


def prepared(found: Sequence[Record]) -> list[Entry]:
    """Entries with a line for each inference rule, and with AI."""
    return with_intransigence(list(by_rule(found)))


@cache
def whole_main_table(seeds: int = 10) -> Study:
    """All 1,290 runs of the main tables; seeds share their numbers but not their class orders."""
    found = [
        replace(record, seed=seed, class_order=shuffled(record.class_order, seed))
        for record in records("table1", 1)
        for seed in range(seeds)
    ]
    return Study({"table1": prepared(found)}, [])


def shuffled(order: Sequence[int], seed: int) -> list[int]:
    found: list[int] = np.random.default_rng(seed).permutation(order).tolist()
    return found
