"""The summary at the top of RESULTS.md: answers first, then what they rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bison_ocl.report.claims.claim import Claim
from bison_ocl.report.claims.class_means import by_class_means
from bison_ocl.report.claims.nearness import COMPARED, nearness
from bison_ocl.report.claims.parts import parts
from bison_ocl.report.claims.standing import standing
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.experiments import by_own_rule, experiments
from bison_ocl.report.study.measures import AF_TABLE, AI, Measure
from bison_ocl.report.study.paper import MAIN_TABLE
from bison_ocl.report.study.study import Study
from bison_ocl.report.tables.build import by_memory
from bison_ocl.report.tables.table import Table

NAMES = (
    "C10 0.2k is Split CIFAR-10 with a memory of 200 images; C100 is Split CIFAR-100, Mini Split "
    "Mini-ImageNet."
)
BALANCED = "Does BISON balance forgetting and intransigence best (AF_table + AI)?"


def lost(record: Entry) -> float | None:
    """Forgetting and intransigence together, in percent."""
    forgetting, intransigence = AF_TABLE.of(record), AI.of(record)
    if forgetting is None or intransigence is None:
        return None
    return forgetting + intransigence


LOST = Measure("AF_table + AI", "AF_table + AI", lost, "lower")


def claims(study: Study, tables: Mapping[str, Sequence[Table]]) -> list[str]:
    """Paragraphs of Markdown; none where the main table was not run."""
    found = asked(study, tables)
    if not found:
        return []
    details = [text for one in found if one.details for text in detailed(one)]
    return ["## In short", "\n".join(f"- {one}" for one in found), NAMES, *details]


def asked(study: Study, tables: Mapping[str, Sequence[Table]]) -> list[Claim]:
    if MAIN_TABLE not in study.items:
        return []
    by_name = {table.columns[0].measure.name: table for table in tables[MAIN_TABLE]}
    compared = {name: by_name[name] for name in COMPARED if name in by_name}
    if len(compared) < len(COMPARED):
        return []
    near = nearness(compared)
    if near is None:
        return []
    found = experiments(MAIN_TABLE, study.items[MAIN_TABLE])
    table = by_memory(MAIN_TABLE, by_own_rule(found), LOST)
    return [
        near,
        standing("Is BISON best in AA?", compared["AA"]),
        standing(BALANCED, table, "As above, by the sum of both; the lowest is first."),
        by_class_means(found),
        parts(tables.get("ablation", ())),
    ]


def detailed(claim: Claim) -> list[str]:
    return [f"### {claim.question}", *claim.details]
