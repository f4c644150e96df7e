"""Log runs as folders of TensorBoard event files, with record and model."""

from __future__ import annotations

import shutil
from pathlib import Path

from bison_ocl.errors import UserError
from bison_ocl.experiments.tracking.diary import Diary
from bison_ocl.experiments.tracking.story import Curve, Settings, Story
from bison_ocl.files.durable import check_writable, temporary_name, write_errors

ADVICE = "results are kept"


def default(out: Path) -> str:
    return str(out / "tensorboard")


def check(folder: str) -> None:
    """Fail now if logging to this folder would fail later."""
    import torch.utils.tensorboard  # noqa: F401

    check_writable(Path(folder), "--track")


def is_kept(name: str, folder: str) -> bool:
    """Whether a record is logged: its folder gets its name last."""
    return (Path(folder) / name).exists()


def begin(name: str, settings: Settings, folder: str) -> Diary:
    """The log of a run from now on; replaces what an interrupted command has left."""
    place = Path(folder) / name
    shutil.rmtree(place, ignore_errors=True)
    return Events(place)


def keep(story: Story, folder: str) -> None:
    """Write a finished run."""
    place = Path(folder) / story.name
    diary = Events(temporary_name(place))
    try:
        diary.add(story.curves)
        diary.finish(story)
    except UserError:
        shutil.rmtree(diary.place, ignore_errors=True)
        if not place.exists():  # another process was faster
            raise


class Events(Diary):
    """A folder with an event file, which becomes that of the record by a rename."""

    def __init__(self, place: Path) -> None:
        super().__init__()
        from torch.utils.tensorboard import SummaryWriter

        self.place = place
        with write_errors(place, ADVICE):
            self.writer = SummaryWriter(str(place))

    def write(self, curves: dict[str, Curve]) -> None:
        with write_errors(self.place, ADVICE):
            for name, curve in curves.items():
                for step, value in curve:
                    self.writer.add_scalar(name, value, step)
            self.writer.flush()

    def finish(self, story: Story) -> None:
        with write_errors(self.place, ADVICE):
            self.writer.add_hparams(story.settings, story.finals, run_name=".")
            self.writer.close()
            (self.place / "record.json").write_text(story.line)
            if story.model:
                shutil.copy(story.model, self.place)
            self.place.rename(self.place.with_name(story.name))

    def stop(self) -> None:
        self.writer.close()
