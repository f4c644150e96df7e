"""The arguments of a learner, refused in one line where nothing can be built with them."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import getfullargspec
from math import isfinite
from numbers import Real
from operator import index
from typing import Any

import torch
from torch import nn

from bison_ocl.data.storage.places import cache_folder
from bison_ocl.engine.execution import Execution
from bison_ocl.errors import UserError, unknown
from bison_ocl.inference.features import Views
from bison_ocl.inference.rule import Rule
from bison_ocl.inference.rules import RULES
from bison_ocl.methods import method_class
from bison_ocl.methods.method import Method
from bison_ocl.methods.outside import check_method
from bison_ocl.methods.settings import built, checked_method
from bison_ocl.methods.start import check_memory
from bison_ocl.nets.module import Normalise
from bison_ocl.nets.precision import checked_precision

MOST = 2**62 - 1
"""largest whole number that tensors hold here"""
LARGEST_SIDE = 4096
"""pixels of a side of images, also in a valid file"""
RANGES = {
    "memory": (0, MOST),
    "seed": (0, MOST),
    "classes": (1, 10**6),
    "task_gap": (1, MOST),
    "refresh": (1, MOST),
    "calibration": (0, MOST),
    "image_size": (1, LARGEST_SIDE),
}
"""least and largest value of each whole number"""


@dataclass(frozen=True)
class Arguments:
    """The arguments of a learner, checked; its class docstring explains them."""

    method: Method
    memory: int
    seed: int
    classes: int | None
    module: nn.Module | None
    task_gap: int | None
    refresh: int
    rule_name: str | None
    calibration: int
    image_size: int | None
    normalise: Normalise | None
    execution: Execution

    @property
    def replayed(self) -> int:
        """Images of the memory that steps may replay."""
        return self.memory - self.calibration

    @property
    def rule(self) -> Rule | None:
        return None if self.rule_name is None else RULES[self.rule_name]

    @property
    def frozen(self) -> bool:
        """Whether the backbone never changes."""
        module = self.module
        return module is not None and not any(v.requires_grad for v in module.parameters())

    @property
    def mirrors(self) -> bool:
        """Whether the inference rule also reads mirror images of the memory."""
        views = getattr(self.rule or getattr(self.method, "rule", None), "views", Views())
        return bool(views.mirror)

    @property
    def by_heads(self) -> bool:
        """Whether a head predicts, which needs no summary of the memory."""
        return self.rule_name is None and type(self.method).summarise is Method.summarise


def checked(
    method: object,
    settings: dict[str, Any],
    *,
    memory: int,
    seed: int,
    classes: int | None,
    backbone: nn.Module | None,
    task_gap: int | None,
    refresh: int,
    device: str,
    precision: str,
    compile: bool,
    rule: str | None,
    calibration: int,
    image_size: int | None,
    normalise: object,
) -> Arguments:
    """The arguments of a learner, refused if nothing can be built with them."""
    if not isinstance(compile, bool):
        raise UserError(f"compile={compile!r}: expected True or False")
    folder = cache_folder() / "compiled" if compile else None
    device, own_module = found_device(device), backbone is not None
    found = Arguments(
        execution=Execution(device, checked_precision(precision), folder, own_module),
        module=backbone,
        memory=whole_number("memory", memory),
        seed=whole_number("seed", seed),
        classes=None if classes is None else whole_number("classes", classes),
        task_gap=None if task_gap is None else whole_number("task_gap", task_gap),
        refresh=whole_number("refresh", refresh),
        method=method_of(method, settings),
        rule_name=rule,
        calibration=whole_number("calibration", calibration),
        image_size=None if image_size is None else whole_number("image_size", image_size),
        normalise=mean_and_deviation(normalise, backbone),
    )
    check_backbone(backbone, found.method)
    check_memory(found.method, found.memory)
    check_calibration(found)
    check_rule(rule, found.method)
    return found


ARGUMENTS = getfullargspec(checked).kwonlyargs
"""names of a learner's own arguments"""


def whole_number(name: str, value: Any) -> int:
    """A whole number of Python or numpy, refused if out of range."""
    try:
        number = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = -1
    least, most = RANGES[name]
    if number > most:
        raise UserError(f"{name}={value!r}: expected a whole number of at most {most:,}")
    if number < least:
        raise UserError(f"{name}={value!r}: expected a whole number of at least {least}")
    return number


def least_probability(reject_below: Any) -> float:
    """The bound below which predictions are None; 0, which rejects none, where it is None."""
    if reject_below is None:
        return 0.0
    number = isinstance(reject_below, Real) and not isinstance(reject_below, bool)
    if not number or not 0 <= reject_below <= 1:
        expected = "a probability from 0 to 1, such as 0.6"
        raise UserError(f"reject_below={reject_below!r:.60}: expected {expected}")
    return float(reject_below)


def method_of(method: object, settings: dict[str, Any]) -> Method:
    """The method of a name, a class or an object."""
    if isinstance(method, Method):
        check_method(type(method))
        if settings:
            given = ", ".join(settings)
            raise UserError(f"{given}: give settings to {type(method).__name__}(...) itself")
        return checked_method(method)
    if not isinstance(method, str | type):
        raise UserError(f"method={method!r}: expected a name, such as 'bison', or a class")
    found = method_class(method) if isinstance(method, str) else method
    check_method(found)
    return built(found, None, settings, others=ARGUMENTS)


def check_backbone(backbone: object, method: Method) -> None:
    """Refuse a backbone that is no module, and settings of the network that it replaces."""
    if not (backbone is None or isinstance(backbone, nn.Module)):
        raise UserError(f"backbone={backbone!r}: expected a torch.nn.Module that returns features")
    if backbone is not None and method.filters != type(method).filters:
        raise UserError(f"filters={method.filters} has no effect with backbone: leave it out")


def mean_and_deviation(value: Any, backbone: object) -> Normalise | None:
    """Mean and standard deviation per channel, refused without a backbone of the caller's."""
    if value is None:
        return None
    if backbone is None:
        raise UserError("normalise is for backbone: leave it out, or give a backbone")
    try:
        mean, deviation = (tuple(float(number) for number in part) for part in value)
        fits = len(mean) == len(deviation) == 3 and min(deviation) > 0
        fits = fits and all(map(isfinite, mean + deviation))
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise UserError(
            f"normalise={value!r}: expected (mean, deviation), three numbers each, such as "
            f"((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))"
        )
    return mean, deviation


def check_calibration(made: Arguments) -> None:
    """Refuse a memory in which held-back images leave too few to replay."""
    least = max(made.method.buffer_batch, 1) if made.method.replays else 0
    if made.calibration and made.replayed < least:
        left = f"{max(made.replayed, 0)} of {made.memory} images to replay"
        raise UserError(
            f"calibration={made.calibration} leaves {left}, fewer than a batch of {least}: "
            f"raise memory or lower calibration"
        )


def check_rule(name: object, method: Method) -> None:
    """Refuse an unknown inference rule, or one for a method without a memory."""
    if name is None:
        return
    if name not in list(RULES):
        raise UserError(unknown("rule", str(name), RULES))
    if not method.replays:
        raise UserError(f"rule={name!r} needs a memory, but this method has none")


def found_device(name: str) -> str:
    """The device of a name, `auto` included; refused if torch does not know or find it."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        kind = torch.device(name).type
    except (RuntimeError, TypeError):
        kind = "unknown"
    if kind not in ("cpu", "cuda"):
        raise UserError(f"device={name!r}: expected cpu, cuda or auto")
    if kind == "cuda" and not torch.cuda.is_available():
        raise UserError(f"device={name!r}: torch finds no GPU here; use cpu")
    return name
