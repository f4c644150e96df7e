"""Small learners for tests, what they are fed, and what they know."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bison_ocl import Learner
from bison_ocl.batch import Batch
from bison_ocl.data.dataset import Dataset
from bison_ocl.files import checkpoint
from bison_ocl.methods import method_class
from bison_ocl.state import State
from tests.tiny import images, snapshot

ANIMALS = ["bison", "crane", "otter", "whale"]


def backbone(seed: int = 0) -> nn.Module:
    """A few numbers with a normalisation, so that its statistics take part."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(3, 6, 3, stride=2, padding=1),
            nn.BatchNorm2d(6),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
        )


def herd(n: int, classes: int = 4, seed: int = 0) -> tuple[Tensor, list[int]]:
    """n images of classes in random order."""
    y = torch.randint(0, classes, (n,), generator=torch.Generator().manual_seed(seed))
    return images(y, seed), y.tolist()


def new(method: str = "bison", **options: Any) -> Learner:
    return Learner(method, **({"memory": 20, "backbone": backbone()} | options))


def trained(method: str = "bison", n: int = 40, **options: Any) -> Learner:
    learner = new(method, **options)
    x, y = herd(n)
    learner.observe(x, [ANIMALS[i] for i in y])
    return learner


def quick_settings(name: str) -> dict[str, int]:
    """A network of few numbers, and few rounds where a method goes over its memory many times."""
    rounds = {"epochs": 2} if hasattr(method_class(name), "epochs") else {}
    return {"filters": 2} | rounds


def quick(**options: Any) -> Learner:
    return new("finetune", stream_batch=2, **options)


def feed(learner: Learner, *labels: int) -> None:
    """One step for each label."""
    for label in labels:
        y = torch.full((2,), label)
        learner.observe(images(y, seed=label), y.tolist())


def small_data() -> Dataset:
    train = torch.arange(6).repeat_interleave(17)
    test = torch.arange(6).repeat_interleave(4)
    names = tuple(f"class {i}" for i in range(6))
    return Dataset("tiny", Batch(images(train), train), Batch(images(test, 1), test), 6, 3, names)


def in_threads(*work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def state(learner: Learner) -> State:
    assert learner._training.me is not None
    return learner._training.me


def everything(learner: Learner) -> dict[str, Tensor]:
    """What a learner knows, in copies, the spare row of its memory aside."""
    return snapshot({"state": checkpoint.pack(state(learner))[0]})


def on_disk(learner: Learner, path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What a file of a learner says."""
    copy.deepcopy(learner).save(path)
    return checkpoint.read(path)
