"""Log runs to Weights & Biases: folders that `wandb sync` uploads, or directly if asked.

Offline unless WANDB_MODE says otherwise; WANDB_PROJECT and WANDB_ENTITY choose where runs appear.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bison_ocl.errors import UserError, first_line
from bison_ocl.experiments.tracking.logged_record import Curve, LoggedRecord, Settings
from bison_ocl.experiments.tracking.run_log import RunLog
from bison_ocl.files.durable import check_writable

if TYPE_CHECKING:
    from wandb import Run

PROJECT = "bison-ocl"
FINISHED = "finished-{}"
"""the name of a file that says that a run is logged completely"""
RUNNING = "running-{}"
"""the name of a file with the name of the folder of a run that trains"""
PATIENCE = 60.0
"""seconds for W&B to write the rest of a file"""


def default(out: Path) -> str:
    return str(out / "wandb")


def check(folder: str) -> None:
    """Fail now if logging to this folder would fail later."""
    import wandb  # noqa: F401

    check_writable(Path(folder), "--track")
    logging.raiseExceptions = False  # W&B's own log files meet a full disk, too


def is_kept(name: str, folder: str) -> bool:
    """Whether a record is logged completely."""
    return (Path(folder) / FINISHED.format(name)).exists()


def begin(name: str, settings: Settings, folder: str) -> RunLog:
    """The log of a run from now on; replaces what an interrupted command has left offline."""
    import wandb

    discard(name, folder)
    running = Path(folder) / RUNNING.format(name)
    with errors(folder):
        run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=name,
            config=dict(settings),
            dir=folder,
            mode=mode(),
            settings=wandb.Settings(
                silent=True, console="off", x_disable_stats=True, x_disable_meta=True
            ),
            reinit="create_new",
        )
        running.write_text(Path(run.dir).parent.name)
    return WandbRun(run, running, folder)


def discard(name: str, folder: str) -> None:
    """Remove what an interrupted command has left of a run offline."""
    running = Path(folder) / RUNNING.format(name)
    with errors(folder):
        if running.exists():
            if mode() == "offline":
                shutil.rmtree(offline_run(folder, running.read_text()), ignore_errors=True)
            running.unlink()


def offline_run(folder: str, name: str) -> Path:
    """The folder of an offline run; a name cannot lead anywhere else."""
    return Path(folder) / "wandb" / f"offline-run-{Path(name).name.removeprefix('offline-run-')}"


def keep(logged: LoggedRecord, folder: str) -> None:
    """Write a finished run."""
    log = begin(logged.name, logged.settings, folder)
    log.add(logged.curves)
    log.finish(logged)


class WandbRun(RunLog):
    """A run of W&B: online at once; offline W&B writes its file in blocks of 32 KB."""

    def __init__(self, run: Run, running: Path, folder: str) -> None:
        super().__init__()
        self.run, self.running, self.folder = run, running, folder

    def write(self, curves: dict[str, Curve]) -> None:
        with errors(self.folder):
            for name, curve in curves.items():
                if name not in self.last:
                    self.run.define_metric(name, step_metric=f"at/{name}")
                for step, value in curve:
                    self.run.log({name: value, f"at/{name}": step})

    def finish(self, logged: LoggedRecord) -> None:
        with errors(self.folder):
            self.run.name = logged.name
            self.run.summary.update(logged.finals)
            (Path(self.run.dir) / "record.json").write_text(logged.line)
            if logged.model:
                self.run.save(logged.model, base_path=logged.model.parent, policy="now")
            file = Path(self.run.settings.sync_file) if self.run.offline else None
            self.run.finish()
            if file:
                wait_until_written(file)
            (Path(self.folder) / FINISHED.format(logged.name)).touch()
            self.running.unlink(missing_ok=True)

    def stop(self) -> None:
        self.run.finish(exit_code=1)


def wait_until_written(file: Path) -> None:
    """Wait for the end of an offline run's file: `finish` returns before another process has
    written its last block."""
    until = time.monotonic() + PATIENCE
    while not is_written(file):
        if time.monotonic() > until:
            raise TimeoutError(f"W&B has not completed {file} after {PATIENCE:.0f} seconds")
        time.sleep(0.01)


def is_written(file: Path) -> bool:
    """Whether a file of W&B has a record of the run's exit, the last one."""
    from wandb.proto.wandb_internal_pb2 import Record  # type: ignore[attr-defined]
    from wandb.sdk.internal.datastore import DataStore

    store: Any = DataStore()
    last = b""
    try:
        store.open_for_scan(str(file))
        while (data := store.scan_data()) is not None:
            last = data
    except AssertionError:  # a block that is being written
        return False
    finally:
        store.close()
    return bool(Record.FromString(last).HasField("exit"))


@contextmanager
def errors(folder: str) -> Iterator[None]:
    """Errors of W&B in one line."""
    import wandb

    try:
        yield
    except (wandb.Error, OSError) as error:
        why = first_line(error)
        raise UserError(f"cannot track in {folder}: {why}; results are kept") from error


def mode() -> Any:
    """What WANDB_MODE says, else offline: nothing leaves this machine unasked."""
    return os.environ.get("WANDB_MODE", "offline")
