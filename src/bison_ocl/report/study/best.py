"""The best setting of a method in a sweep, chosen on validation images, never on test images."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

from bison_ocl.bounds import assigned
from bison_ocl.errors import plural
from bison_ocl.report.study.entry import Entry, by_own_rule
from bison_ocl.report.study.experiments import Experiment, compared, experiments, varied
from bison_ocl.report.study.measures import AA, plus_minus
from bison_ocl.report.study.names import VALIDATE, memory_name, name_of
from bison_ocl.report.study.places import Place

ON_TEST = "so none is called the best: add --validate 0.1 to choose on held-out training images"


def best_settings(entries: Sequence[Entry]) -> list[str]:
    """One line for each method that was run with several settings at a place."""
    alike: dict[tuple[str, Place], list[Experiment]] = {}
    for one in compared(experiments("", by_own_rule(entries))):
        alike.setdefault((one.method, one.place), []).append(one)
    return [line(tried) for tried in alike.values() if len(tried) > 1]


def line(tried: Sequence[Experiment]) -> str:
    """The best of some settings with its criterion, or the reason why none is named."""
    first = tried[0].first
    where = f"{name_of(first)}, {memory_name(first.memory)}"
    share = first.data_options.get(VALIDATE)
    if share is None:
        return f"{where}: {len(tried)} settings were compared on the test images, {ON_TEST}"
    most = max(one.n for one in tried)
    complete = [one for one in tried if one.n == most]
    best = max(complete, key=lambda one: one.over(AA.of).mean)
    over = best.over(AA.of)
    equal = [chosen(one, tried) for one in complete if isclose(one.over(AA.of).mean, over.mean)]
    fewer = len(tried) - len(complete)
    without = f" ({plural(fewer, 'other')} with fewer runs)" if fewer else ""
    return (
        f"{where}: best of {plural(len(complete), 'setting')}{without} "
        f"{'are' if len(equal) > 1 else 'is'} "
        f"{' and, equally good, '.join(equal)}, by mean validation AA "
        f"{plus_minus(over.mean, over.std)} % (n = {best.n}; {100 * share:g} % of each task's "
        "training images held out)"
    )


def chosen(best: Experiment, tried: Sequence[Experiment]) -> str:
    """The values of the settings that vary, in one experiment."""
    names, settings = varied(tried), best.settings
    return assigned({name: value for name, value in settings.items() if name in names})
