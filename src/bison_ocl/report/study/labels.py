"""Names of the lines of tables, figures and the page: methods, parts of BISON, directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from bison_ocl.bounds import assigned
from bison_ocl.experiments.plan.paper import BY_POSITION, ITEMS, REFERENCE
from bison_ocl.experiments.records.spec import Spec, own_name, under_rule
from bison_ocl.methods.declared import settings_on
from bison_ocl.report.study import names
from bison_ocl.report.study.places import Place, place_of

MAIN_METHOD = "bison"
"""the method that others are tested against"""

READINGS = {("ocm", assigned(dict(BY_POSITION)))}
"""variants that are another reading of a method in the paper, compared with its numbers too"""


@dataclass(frozen=True)
class Label:
    """A line's name, and its role in comparisons."""

    text: str
    category: str = ""
    printed: str | None = None
    """its name in the paper's numbers; None where the paper has nothing like it"""
    main: bool = False
    """whether the others are tested against it"""
    reference: bool = False
    """whether others are measured against it (FINE-TUNE), so that it takes no rank"""
    reading: bool = False
    """whether it is the reading of a method that is compared with the paper's numbers"""

    @property
    def superseded(self) -> bool:
        """Whether the paper's numbers are compared with another reading of the method."""
        base = own_name(self.printed or "")
        return not self.reading and base in {method for method, _ in READINGS}


LabelOf = Callable[[Spec], Label]
Varied = Mapping[tuple[str, Place], set[str]]


def label_of(item: str, runs: Iterable[Spec] = ()) -> LabelOf:
    """How an item labels the line of a run. runs: all runs of the item"""
    varied = {} if item in ITEMS else settings_that_vary(runs)
    return LABELS.get(item) or partial(labelled_in, item, varied)


@cache
def planned(item: str) -> tuple[Spec, ...]:
    """The cells of an item as runs, by each method's own rule and then by its other rules."""
    return tuple(
        Spec(under_rule(asked.method, rule), asked.data, asked.memory, 0, settings, asked.stream)
        for asked in (ITEMS[item].cells if item in ITEMS else ())
        for settings in [settings_on(asked.method, asked.data, dict(asked.settings))]
        for rule in ("", *asked.also)
    )


def settings_that_vary(runs: Iterable[Spec]) -> Varied:
    """Settings with several values, by method and place: a sweep names all of them."""
    values: dict[tuple[str, Place], dict[str, set[str]]] = {}
    for run in runs:
        tried = values.setdefault((run.method, place_of(run)), {})
        for name, value in run.settings.items():
            tried.setdefault(name, set()).add(str(value))
    return {
        line: {name for name, found in settings.items() if len(found) > 1}
        for line, settings in values.items()
    }


def labelled_in(item: str, varied: Varied, record: Spec) -> Label:
    """The label by the method; settings that all runs of an item share make no variant."""
    usual = common_settings(item, record.method, record.data)
    label = labelled(record, usual)
    if swept := varied.get((record.method, place_of(record))):
        variant = names.variant(record, usual, swept=swept)
        return replace(label, text=f"{names.name_of(record)} ({variant})")
    return label


def labelled(record: Spec, usual: Mapping[str, Any] | None = None) -> Label:
    """A line of its own for each method, and for each way in which its settings were changed."""
    changed = names.variant(record, usual)
    label = replace(method_label(record.method), text=names.name_of(record))
    if not changed:
        return label
    text, reading = f"{label.text} ({changed})", (own_name(record.method), changed) in READINGS
    printed = label.printed if reading else None
    return replace(label, text=text, printed=printed, main=False, reading=reading)


def method_label(method: str) -> Label:
    """The line of a method by its preset."""
    return Label(
        names.method_name(method),
        names.category(method),
        printed=method,
        main=method == MAIN_METHOD,
        reference=method == REFERENCE,
    )


@cache
def common_settings(item: str, method: str, data: str) -> dict[str, Any]:
    """The settings that all cells of an item share, as the method has them."""
    planned = [set(cell.settings) for cell in ITEMS[item].cells] if item in ITEMS else []
    common = dict(set.intersection(*planned)) if planned else {}
    settings = settings_on(own_name(method), data, common)
    return {name: settings[name] for name in common if name in settings}


PARTS = {"dc": "DC", "pal": "PAL", "paf": "PAF"}
ABLATIONS = {
    "DC, PAL, PAF": "BISON",
    "DC, PAL": "w/o PAF",
    "DC, PAF": "w/o PAL",
    "DC": "w/o PAF & PAL",
    "PAL": "w/o DC & PAF",
    "": "w/o all",
}
"""The paper's names by the parts that are left."""


def by_parts(record: Spec) -> Label:
    """A line of the ablation, by the parts of BISON that a run has; others by their own name."""
    if record.method != MAIN_METHOD:
        return labelled(record)
    settings = record.settings
    left = ", ".join(PARTS[part] for part in PARTS if settings[part] not in (False, "off"))
    changed = names.variant(record, shown=PARTS)
    name = ABLATIONS.get(left, f"with {left}")
    return Label(
        f"{name} ({changed})" if changed else name,
        left or "none",
        printed=None if changed else name,
        main=name == "BISON" and not changed,
    )


def by_directions(record: Spec) -> Label:
    """(bs, sb): proxy-anchor loss from buffer to stream, feedback from stream to buffer."""
    if record.method != MAIN_METHOD:
        return labelled(record)
    changed = names.variant(record, shown=("pal", "paf"))
    text = f"({record.settings['pal']}, {record.settings['paf']})"
    usual = not names.variant(record)
    printed = record.method if usual else None
    return Label(f"{text} ({changed})" if changed else text, printed=printed, main=usual)


LABELS: Mapping[str, LabelOf] = {"ablation": by_parts, "directions": by_directions}
"""Items that call their lines by something else than the method."""
