"""Log runs as folders of TensorBoard event files, with record and model."""

from __future__ import annotations

import shutil
import threading
from functools import cache
from pathlib import Path

from bison_ocl.errors import UserError
from bison_ocl.experiments.tracking.logged_record import Curve, LoggedRecord, Settings
from bison_ocl.experiments.tracking.run_log import RunLog
from bison_ocl.files.durable import check_writable, temporary_name, write_errors

ADVICE = "results are kept"


def default(out: Path) -> str:
    return str(out / "tensorboard")


def check(folder: str) -> None:
    """Fail now if logging to this folder would fail later."""
    import torch.utils.tensorboard  # noqa: F401

    check_writable(Path(folder), "--track")
    quiet_writers()


@cache
def quiet_writers() -> None:
    """Let a writer thread of TensorBoard end without a traceback: `flush` raises its error."""
    others = threading.excepthook

    def hook(error: threading.ExceptHookArgs) -> None:
        if not type(error.thread).__module__.startswith("tensorboard."):
            others(error)

    threading.excepthook = hook


def is_kept(name: str, folder: str) -> bool:
    """Whether a record is logged: its folder gets its name last."""
    return (Path(folder) / name).exists()


def begin(name: str, settings: Settings, folder: str) -> RunLog:
    """The log of a run from now on; replaces what an interrupted command has left."""
    discard(name, folder)
    return Events(Path(folder) / name)


def discard(name: str, folder: str) -> None:
    """Remove what an interrupted command has left of a run."""
    shutil.rmtree(Path(folder) / name, ignore_errors=True)


def keep(logged: LoggedRecord, folder: str) -> None:
    """Write a finished run."""
    place = Path(folder) / logged.name
    log = Events(temporary_name(place))
    try:
        log.add(logged.curves)
        log.finish(logged)
    except UserError:
        shutil.rmtree(log.place, ignore_errors=True)
        if not place.exists():  # another process was faster
            raise


class Events(RunLog):
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

    def finish(self, logged: LoggedRecord) -> None:
        with write_errors(self.place, ADVICE):
            self.writer.add_hparams(logged.settings, logged.finals, run_name=".")
            self.writer.close()
            (self.place / "record.json").write_text(logged.line)
            if logged.model:
                shutil.copy(logged.model, self.place)
            self.place.rename(self.place.with_name(logged.name))

    def stop(self) -> None:
        self.writer.close()
