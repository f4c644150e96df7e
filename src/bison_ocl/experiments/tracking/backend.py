"""Interface of a tracker's module: tensorboard.py, mlflow.py, wandb.py."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bison_ocl.experiments.tracking.logged_record import LoggedRecord, Settings
from bison_ocl.experiments.tracking.run_log import RunLog

if TYPE_CHECKING:
    from bison_ocl.experiments.tracking import mlflow, tensorboard, wandb


class Backend(Protocol):
    """Functions of a place: a folder, or the address of a server."""

    def default(self, out: Path, /) -> str:
        """The place if none is given."""

    def check(self, place: str, /) -> None:
        """Fail now if logging to this place would fail later."""

    def is_kept(self, name: str, place: str, /) -> bool:
        """Whether a record is logged completely."""

    def begin(self, name: str, settings: Settings, place: str, /) -> RunLog:
        """The log of a run from now on; replaces what an interrupted command has left."""

    def discard(self, name: str, place: str, /) -> None:
        """Delete what an interrupted command has left of a run."""

    def keep(self, logged: LoggedRecord, place: str, /) -> None:
        """Write a finished run."""


if TYPE_CHECKING:  # mypy checks each of them
    BACKENDS: tuple[Backend, ...] = (mlflow, tensorboard, wandb)
