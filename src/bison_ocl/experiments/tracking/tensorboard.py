"""Log runs as folders of TensorBoard event files, with record and model."""

from __future__ import annotations

import shutil
from pathlib import Path

from bison_ocl.experiments.tracking.story import Story
from bison_ocl.files.durable import check_writable, temporary_name, write_errors


def default(out: Path) -> str:
    return str(out / "tensorboard")


def check(folder: str) -> None:
    """Fail now if logging to this folder would fail later."""
    import torch.utils.tensorboard  # noqa: F401

    check_writable(Path(folder), "--track")


def keep(story: Story, folder: str) -> None:
    """Write a run unless its folder exists; the final rename makes the folder complete."""
    place = Path(folder) / story.name
    if place.exists():
        return
    unfinished = temporary_name(place)
    with write_errors(place, "results are kept"):
        try:
            write(story, unfinished)
            unfinished.rename(place)
        except OSError:
            shutil.rmtree(unfinished, ignore_errors=True)
            if not place.exists():  # another process was faster
                raise


def write(story: Story, place: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(place)) as writer:
        for name, curve in story.curves.items():
            for step, value in curve:
                writer.add_scalar(name, value, step)
        writer.add_hparams(story.settings, story.finals, run_name=".")
    (place / "record.json").write_text(story.line)
    if story.model:
        shutil.copy(story.model, place)
