"""Seeds trained together: what each seed alone would see, store and, but for rounding, learn."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from bison_ocl import checkpoint
from bison_ocl.data import load
from bison_ocl.experiments.group import in_step
from bison_ocl.experiments.runner import Job, run
from bison_ocl.experiments.spec import Spec
from bison_ocl.experiments.train import Run
from bison_ocl.methods.settings import configured
from bison_ocl.stream.streams import stream_of

SEEDS = [3, 4]


class Watching:
    """Says nothing; may pull the plug at a step."""

    def __init__(self, stop_at: int = -1) -> None:
        self.stop_at = stop_at

    def stepped(self, task: int, step: int) -> None:
        if step == self.stop_at:
            raise InterruptedError

    def tested(self, task: int, accuracy: float) -> None: ...


def job(folder: Path, method: str = "er", lr: str = "1e-6", **changes: Any) -> Job:
    small = {"filters": "2", "stream_batch": "100", "lr": lr}
    asked = {"save_model": True, "seeds_at_once": 2, **changes}
    return Job(method, "split-digits", 20, SEEDS, small, folder, **asked)


def trained(asked: Job, stop_at: int = -1) -> list[dict[str, Any]]:
    watch: Callable[[Run], Any] = lambda _: nullcontext(Watching(stop_at))  # noqa: E731
    return run(asked, watch, lambda _: None)


def models(folder: Path) -> list[dict[str, torch.Tensor]]:
    return [checkpoint.read(path)[0] for path in sorted((folder / "models").iterdir())]


@pytest.mark.parametrize("method", ["er", "bison"])
def test_together_is_as_alone(method: str, tmp_path: Path) -> None:
    alone = trained(job(tmp_path / "alone", method, seeds_at_once=1))
    together = trained(job(tmp_path / "together", method))
    for one, other in zip(alone, together, strict=True):
        assert [one[key] for key in ("seed", "class_order", "settings")] == [
            other[key] for key in ("seed", "class_order", "settings")
        ]
        assert torch.allclose(
            torch.tensor(one["accuracy"]), torch.tensor(other["accuracy"]), atol=0.03
        )
    for one_model, other_model in zip(
        models(tmp_path / "alone"), models(tmp_path / "together"), strict=True
    ):
        assert one_model.keys() == other_model.keys()
        assert torch.equal(one_model["memory.x"], other_model["memory.x"])
        assert torch.equal(one_model["memory.y"], other_model["memory.y"])
        for name, value in one_model.items():
            assert torch.allclose(value.double(), other_model[name].double(), atol=1e-4), name


def test_an_interrupted_group_goes_on_bit_for_bit(tmp_path: Path) -> None:
    whole = trained(job(tmp_path / "whole", lr="0.1"))
    with pytest.raises(InterruptedError):
        trained(job(tmp_path / "cut", lr="0.1", checkpoint_every=1e-9), stop_at=8)
    assert len(list((tmp_path / "cut" / "checkpoints").iterdir())) == 2
    resumed = trained(job(tmp_path / "cut", lr="0.1", resume=True))
    assert [r["accuracy"] for r in resumed] == [r["accuracy"] for r in whole]
    for one, other in zip(models(tmp_path / "whole"), models(tmp_path / "cut"), strict=True):
        assert all(torch.equal(one[name], other[name]) for name in one)
    assert not list((tmp_path / "cut" / "checkpoints").iterdir())


def test_only_runs_in_step_go_together() -> None:
    data, method = load("split-digits"), configured("finetune", None, {"filters": "2"})
    runs = [
        Run(Spec("finetune", data.name, 0, seed, {}), method, stream_of(text, data, seed))
        for seed, text in enumerate(["natural"] * 3 + ["iid", "blurry:disjoint=50", "natural"])
    ]
    runs[1].stepped(0.0)
    seeds = [[run.spec.seed for run in group] for group in in_step(runs, most=2)]
    assert seeds == [[0, 2], [5], [1], [3], [4]]
