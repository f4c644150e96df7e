"""Eight threads that share a learner: they observe, predict and save, in any order."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from bison_ocl import Learner
from tests.faults.outcome import Outcome
from tests.tiny import images

THREADS, CLASSES, BATCH = 8, 4, 10


def crowd(count: int, seed: int) -> Outcome:
    """For `count` seconds; afterwards all that was observed was learned, once."""
    outcome, lock = Outcome(made=count), threading.Lock()
    learner = Learner("er", memory=20, seed=seed, filters=2)
    observed = [0] * THREADS
    end = time.monotonic() + count
    learner.observe(images(torch.arange(CLASSES)), list(range(CLASSES)))
    learner.flush()

    def work(number: int, folder: Path) -> None:
        draw = random.Random(f"{seed} {number}")
        while time.monotonic() < end:
            y = torch.tensor([draw.randrange(CLASSES) for _ in range(BATCH)])
            try:
                match draw.randrange(6):
                    case 0:
                        learner.save(folder / f"{number}.safetensors")
                        Learner.load(folder / f"{number}.safetensors")
                    case 1 | 2:
                        assert len(learner.predict(images(y))) == BATCH
                    case _:
                        learner.observe(images(y), y.tolist())
                        observed[number] += BATCH
                told = "served", ""
            except Exception as error:
                told = "crashed", repr(error)
            with lock:
                outcome.add(*told)

    with TemporaryDirectory() as name:
        crew = [threading.Thread(target=work, args=(n, Path(name))) for n in range(THREADS)]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()
        learner.flush()
    assert learner._training.me is not None
    seen = int(learner._training.me.memory.seen)
    if seen != sum(observed) + CLASSES:
        outcome.add("images lost", f"{seen} of {sum(observed) + CLASSES} were learned")
    return outcome
