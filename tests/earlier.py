"""Files that earlier versions wrote, as tests/fixtures keeps them, and the runs they belong to.

All were written at commit 6efd875, at which `write` below was run; they are never written again.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bison_ocl import Learner
from bison_ocl.engine.step import Engine
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.experiments.train.run import Run, Saving
from bison_ocl.methods.settings import configured, settings_of
from bison_ocl.stream.class_incremental import class_incremental
from tests.contract.test_resume import Stop, Watcher, dataset, train
from tests.tiny import images

FOLDER = Path(__file__).parent / "fixtures"
EXPECTED = FOLDER / "expected.json"
LEARNERS = {"bison": 4, "er": 3}
RUNS = {"bison": 2, "ocm": 1}
"""methods and the filters of their networks; OCM has the moments of Adam and a teacher"""
ANIMALS = ["bison", "crane", "otter", "whale"]


def learner_file(name: str) -> Path:
    return FOLDER / f"learner-{name}.safetensors"


def run_file(name: str) -> Path:
    return FOLDER / f"run-{name}.safetensors"


def expected(path: Path) -> dict[str, Any]:
    """What the version that wrote a file said of it."""
    found: dict[str, Any] = json.loads(EXPECTED.read_text())[path.stem]
    return found


def asked() -> Tensor:
    """Images to classify."""
    return images(torch.arange(8) % 4, seed=77)


def run_of(name: str) -> Run:
    """The run that a checkpoint belongs to, before its first step."""
    method = configured(name, None, {"filters": RUNS[name]})
    spec = Spec(name, "tiny", 20, 1, settings_of(method))
    return Run(spec, method, class_incremental(dataset(), 1))


def told_by_learner(learner: Learner) -> dict[str, Any]:
    """What a learner of a file must say."""
    assert learner._training.me is not None
    counters = {"step": int(learner._training.me.step), "task": int(learner._training.me.task)}
    shares = learner._scores(asked())[1].softmax(1).tolist()  # as there was no temperature then
    found = {"labels": learner.labels, "predicted": learner.predict(asked()), "shares": shares}
    return found | counters


def told_by_run(run: Run) -> dict[str, Any]:
    """What a run that was taken up must say, before and after the steps left to it."""
    progress = run.progress
    at = {"task": progress.task, "batch": progress.batch, "step": progress.step}
    engine = Engine(run.method)
    scores = engine.scores(run.me, engine.summarise(run.me), dataset().test.x)
    found = {"at": at, "scores": scores.clamp(min=-1e9).tolist()}
    record = train(run, Watcher())
    return found | {"losses": record.losses.loss, "accuracy": record.accuracy}


def write() -> None:
    """Write all files: two learners in the midst of a task, and two checkpoints."""
    told = {}
    for name, filters in LEARNERS.items():
        learner = Learner(name, memory=20, seed=5, filters=filters, task_gap=2)
        for label in (0, 0, 1, 1, 1, 1, 2, 2, 3):
            y = torch.full((10,), label)
            learner.observe(images(y, seed=label), [ANIMALS[label]] * 10)
        learner.save(learner_file(name))
        told[learner_file(name).stem] = told_by_learner(learner)
    for name in RUNS:
        with suppress(Stop):
            train(run_of(name), Watcher(step=8), Saving(run_file(name), every=1e-9))
        again = run_of(name)
        again.resume(run_file(name))
        told[run_file(name).stem] = told_by_run(again)
    EXPECTED.write_text(
        "{\n" + ",\n".join(f'"{k}": {json.dumps(v)}' for k, v in told.items()) + "\n}\n"
    )
