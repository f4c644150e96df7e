"""Forged and damaged files: a working learner or run comes of them, or one line that says why."""

from __future__ import annotations

import os
import random
import resource
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bison_ocl import Learner, UserError
from bison_ocl.engine.step import Engine
from bison_ocl.files import checkpoint
from tests.contract.test_resume import dataset
from tests.earlier import asked, learner_file, run_file, run_of
from tests.forgeries import forged, signed, spoiled, without

MUTATIONS = int(os.environ.get("BISON_OCL_FORGERIES", "60"))
"""of each kind of file and damage"""
SECONDS, KILOBYTES = 5.0, 2**20
"""of this process: others may keep the machine busy"""

Forgery = Callable[[dict[str, Tensor], dict[str, Any]], tuple[dict[str, Tensor], Any]]


def load_learner(path: Path) -> None:
    """Load, predict, and go on learning."""
    learner = Learner.load(path)
    if learner._training.me is not None and tuple(learner._training.me.memory.x.shape[1:]) == (
        3,
        8,
        8,
    ):
        assert len(learner.predict(asked())) == 8
        assert learner.predict_proba(asked()).shape == (8, len(learner.labels))


def load_run(name: str) -> Callable[[Path], None]:
    """Take up a run, and test it."""

    def load(path: Path) -> None:
        run = run_of(name)
        threads = torch.get_num_threads()
        try:
            run.resume(path)
        finally:
            torch.set_num_threads(threads)
        assert len(run.accuracy()) == run.progress.task
        Engine(run.method).confusion(run.me, dataset().test)

    return load


FILES = {
    "learner-bison": (learner_file("bison"), load_learner),
    "learner-er": (learner_file("er"), load_learner),
    "run-bison": (run_file("bison"), load_run("bison")),
}


@pytest.mark.parametrize("damage", [forged, spoiled])
@pytest.mark.parametrize("name", FILES)
def test_a_forged_file_is_read_or_refused_in_one_line(
    name: str, damage: Callable[[Path, int], tuple[str, bytes]], tmp_path: Path
) -> None:
    good, load = FILES[name]
    found: Counter[str] = Counter()
    for seed in range(MUTATIONS):
        said, data = damage(good, random.Random(f"{name} {seed}").randrange(2**40))
        (tmp_path / "file").write_bytes(data)
        begun, before = time.process_time(), peak()
        message = "read"
        try:
            load(tmp_path / "file")
        except UserError as error:
            message = str(error)
        except Exception as error:
            raise AssertionError(f"{said}: {error!r}") from error
        assert "\n" not in message, said
        found["read" if message == "read" else "refused"] += 1
        assert time.process_time() - begun < SECONDS, said
        assert peak() - before < KILOBYTES, said
    assert found["refused"] > 0.3 * MUTATIONS


def peak() -> int:
    """The most memory of this process so far, in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("load", [load_learner, load_run("bison")])
def test_what_is_no_file_is_refused_at_once(load: Callable[[Path], None], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place, message in {
        tmp_path / "pipe": "not a regular file; choose another file",
        tmp_path: "Is a directory; choose another file",
        Path("/dev/zero"): "not a regular file",
        tmp_path / "nothing": "no file",
    }.items():
        with pytest.raises(UserError, match=message):
            load(place)


def changed(tensors: dict[str, Tensor], name: str, number: float) -> dict[str, Tensor]:
    value = tensors[name].clone()
    value.reshape(-1)[:1] = number
    return {**tensors, name: value}


WEIGHT = "net.params.stream.weight"
NAMED: dict[str, tuple[Forgery, str]] = {
    "a weight that is no number": (lambda t, h: (changed(t, WEIGHT, torch.nan), h), WEIGHT),
    "an infinite weight": (lambda t, h: (changed(t, WEIGHT, torch.inf), h), WEIGHT),
    "a label of no class": (lambda t, h: (changed(t, "memory.y", 99), h), r"memory\.y"),
    "a class of a task to come": (lambda t, h: (changed(t, "table", 9), h), "table"),
    "a negative step": (lambda t, h: (changed(t, "step", -1), h), "counters"),
    "more refused steps than steps": (
        lambda t, h: ({**t, "refused": torch.tensor(10**6)}, h),
        "refused",
    ),
    "fewer images than there are": (
        lambda t, h: (t, {**h, "fixed": {**h["fixed"], "filled": 5}}),
        r"\(memory\)",
    ),
    "a memory of a billion": (lambda t, h: (t, {**h, "memory": 10**9}), "no room for a memory of"),
    "a billion rows": (lambda t, h: (t, {**h, "rows": 10**9}), "does not fit"),
    "huge images": (lambda t, h: (t, {**h, "shape": [3, 10**9, 8]}), "1000000000 for 'shape'"),
    "huge filters": (
        lambda t, h: (t, {**h, "settings": {**h["settings"], "filters": 2**31 - 1}}),
        "too large",
    ),
    "an option as setting": (
        lambda t, h: (t, {**h, "settings": {"memory": 9}}),
        "unknown setting 'memory' of bison",
    ),
    "a list of labels as label": (lambda t, h: (t, {**h, "labels": [[1]]}), r"\[1\] for a label"),
    "a label twice": (lambda t, h: (t, {**h, "labels": ["a", "a"]}), "a label twice"),
    "fewer labels than classes": (lambda t, h: (t, {**h, "labels": ["a"]}), "for 'labels'"),
    "text for a switch": (
        lambda t, h: (t, {**h, "fixed": {**h["fixed"], "later": "no"}}),
        "'no' for 'later'",
    ),
    "no fixed values": (lambda t, h: (t, without(h, ("fixed",))), "nothing for 'fixed'"),
    "a list for a header": (lambda t, h: (t, [1]), r"\[1\] for 'header'"),
}


@pytest.mark.parametrize("case", NAMED)
def test_a_forgery_is_named(case: str, tmp_path: Path) -> None:
    forge, message = NAMED[case]
    (tmp_path / "file").write_bytes(signed(*forge(*checkpoint.read(learner_file("bison")))))
    with pytest.raises(UserError, match=message):
        Learner.load(tmp_path / "file")


@pytest.mark.parametrize("field", ["method", "settings"])
def test_a_checkpoint_of_no_possible_run_is_refused(field: str, tmp_path: Path) -> None:
    tensors, header = checkpoint.read(run_file("bison"))
    wrong = [{**header["spec"], field: value} for value in (3, False, None, [1])]
    for spec in [*wrong, without(header["spec"], (field,))]:
        (tmp_path / "run").write_bytes(signed(tensors, {**header, "spec": spec}))
        with pytest.raises(UserError, match="belongs to another run"):
            load_run("bison")(tmp_path / "run")
