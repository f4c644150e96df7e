"""Names of methods, datasets, memories and variants in tables and figures."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from bison_ocl.bounds import assigned
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.records.spec import (
    PLAIN,
    Spec,
    computed_in,
    own_name,
    rule_of,
    under_rule,
)
from bison_ocl.methods.declared import facts, settings_on
from bison_ocl.report.study.entry import Entry
from bison_ocl.stream.streams import DEFAULT

DATA = {
    "split-cifar100": "Split CIFAR-100",
    "split-cifar10": "Split CIFAR-10",
    "split-miniimagenet": "Split Mini-ImageNet",
    "split-tinyimagenet": "Split Tiny-ImageNet",
    "split-digits": "Split Digits",
}
"""in the paper's order"""
SHORT = {"split-cifar10": "C10", "split-cifar100": "C100", "split-miniimagenet": "Mini"}
CATEGORIES = {"T": "training distinction", "F": "feature enhancement"}
"""of methods, in the paper"""
AVERAGED = "averaged"
"""the readout of a method's own rule on averaged weights"""
VALIDATE = "validate"
"""the option of a run that is scored on held-out training images, not on test images"""


def method_name(method: str, declared: str | None = None) -> str:
    """`er + ncm` as `ER + NCM`; the title that a record declares where the method is not known."""
    name = own_name(method)
    found = facts(name)
    title = found.title if found else declared or name.upper()
    return under_rule(title, rule_name(rule_of(method)))


def name_of(run: Spec) -> str:
    """The name of a run's method, by the title in its record where the method is not known."""
    return method_name(run.method, getattr(run, "method_title", None))


def rule_name(rule: str) -> str:
    """`averaged+ld-mirror` as `averaged LD (mirror)`."""
    weights, plus, readout = rule.rpartition("+")
    if readout == AVERAGED:
        return readout
    name, *options = readout.split("-")
    listed = f" ({', '.join(options)})" if options else ""
    return weights + " " * bool(plus) + name.upper() + listed


def data_name(data: str) -> str:
    """`Split CIFAR-10`; of a folder its last name, for paths are long."""
    return DATA.get(data, data.rstrip("/").rpartition("/")[2] or data)


def memory_name(memory: int) -> str:
    """`M = 0.2k` as in the paper; small ones in full."""
    size = f"{memory / 1000:g}k" if memory >= 200 and not memory % 100 else str(memory)
    return f"M = {size}"


def place_name(data: str, memory: int) -> str:
    """`C10 0.2k`"""
    return f"{SHORT.get(data, data_name(data))} {memory / 1000:g}k"


def stream_name(run: Spec) -> str:
    """Dataset, how a folder was cut and the stream if it is not the usual one."""
    options = [data_option(*option) for option in run.data_options.items()]
    unusual = [run.stream] if run.stream != DEFAULT else []
    return ", ".join([data_name(run.data), *options, *unusual])


def data_option(name: str, value: Any) -> str:
    """`tasks=3`; validation in words, because it says what was measured."""
    return f"validated on {100 * value:g} %" if name == VALIDATE else f"{name}={value}"


def category(method: str) -> str:
    """The signs of its categories, `T, F`; none where the paper gives none."""
    found = facts(own_name(method))
    return found.kind if found else ""


def variant(
    run: Spec,
    usual: Mapping[str, Any] | None = None,
    shown: Collection[str] = (),
    swept: Collection[str] = (),
) -> str:
    """Settings that differ from the preset, as `beta=0.3, lambda=1`; none for a run by the preset.

    usual: what the item itself sets; shown: settings that the table shows in another way; swept:
    settings to name even where they have the preset's value.
    """
    recorded = run.method_preset if isinstance(run, Record) else None
    own = recorded or settings_on(own_name(run.method), run.data)
    expected = {**own, **(usual or {})}
    changed = {
        name: value
        for name, value in run.settings.items()
        if name not in shown and (name in swept or name not in expected or expected[name] != value)
    }
    if isinstance(run, Entry) and run.mixed_precision and run.precision != usual_precision(run):
        changed["precision"] = run.precision
    return assigned(changed)


def usual_precision(run: Entry) -> str:
    return computed_in(PLAIN, run.environment.device_type)
