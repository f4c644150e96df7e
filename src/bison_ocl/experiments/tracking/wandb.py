"""Log runs to Weights & Biases: folders that `wandb sync` uploads, or directly if asked.

Offline unless WANDB_MODE says otherwise; WANDB_PROJECT and WANDB_ENTITY choose where runs appear.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bison_ocl.errors import UserError
from bison_ocl.experiments.tracking.story import Story
from bison_ocl.files.durable import check_writable, write_errors

PROJECT = "bison-ocl"
FINISHED = "finished-{}"
"""the name of a file that says that a run is logged completely"""


def default(out: Path) -> str:
    return str(out / "wandb")


def check(folder: str) -> None:
    """Fail now if logging to this folder would fail later."""
    import wandb  # noqa: F401

    check_writable(Path(folder), "--track")


def keep(story: Story, folder: str) -> None:
    """Write a run unless it was logged completely; one that was cut off is logged again."""
    done = Path(folder) / FINISHED.format(story.name)
    if done.exists():
        return
    import wandb

    try:
        write(story, folder)
    except (wandb.Error, OSError) as error:
        why = str(error).partition("\n")[0]
        raise UserError(f"cannot track in {folder}: {why}; results are kept") from error
    with write_errors(done, "results are kept"):
        done.touch()


def write(story: Story, folder: str) -> None:
    import wandb

    quiet = wandb.Settings(silent=True, console="off", x_disable_stats=True, x_disable_meta=True)
    run = wandb.init(
        project=os.environ.get("WANDB_PROJECT", PROJECT),
        name=story.name,
        config=dict(story.settings),
        dir=folder,
        mode=mode(),
        settings=quiet,
        reinit="create_new",
    )
    with run:
        for name, curve in story.curves.items():
            run.define_metric(name, step_metric=f"at/{name}")
            for step, value in curve:
                run.log({name: value, f"at/{name}": step})
        run.summary.update(story.finals)
        (Path(run.dir) / "record.json").write_text(story.line)
        if story.model:
            run.save(story.model, base_path=story.model.parent, policy="now")


def mode() -> Any:
    """What WANDB_MODE says, else offline: nothing leaves this machine unasked."""
    return os.environ.get("WANDB_MODE", "offline")
