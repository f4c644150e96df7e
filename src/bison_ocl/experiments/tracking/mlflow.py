"""Log runs to an MLflow store: a server, or a database such as SQLite."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import requests

from bison_ocl.errors import UserError, first_line
from bison_ocl.experiments.tracking.logged_record import Curve, LoggedRecord, Settings
from bison_ocl.experiments.tracking.run_log import RunLog
from bison_ocl.files.durable import check_writable

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

EXPERIMENT = "bison-ocl"

TAG = "bison_ocl.record"
"""the tag that names a run, and once it is finished its record"""

PATIENCE = 10
"""seconds for a server to answer"""

MOST = 1000
"""metrics in one request, MLflow's own limit"""

REFUSED = re.compile(r"[^\w./ -]")
"""signs that MLflow refuses in the name of a metric, such as the + of `averaged+ncm`"""

QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": str(PATIENCE),
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",  # the default of 7 takes minutes
}
"""environment variables for MLflow, set before its import; the user's own take precedence"""

SQLITE = "sqlite:///"

DATABASE_LOGGER = "mlflow.store.db.utils"
"""logs the traceback of every error that it raises, too"""


def default(out: Path) -> str:
    """$MLFLOW_TRACKING_URI, or a database in the folder of the results."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"{SQLITE}{out.resolve() / 'mlflow.db'}"


def check(uri: str) -> None:
    """Fail now if logging to this store would fail later."""
    if uri.startswith(("http://", "https://")):
        try:
            requests.get(f"{uri.rstrip('/')}/health", timeout=PATIENCE).raise_for_status()
        except requests.RequestException as error:
            raise UserError(
                f"no MLflow server answers at {uri}: start it, or correct it"
            ) from error
    if uri.startswith(SQLITE):
        check_writable(Path(uri.removeprefix(SQLITE)).parent, "--track")
    with opened(uri):
        pass


def is_kept(name: str, uri: str) -> bool:
    """Whether a record is logged completely."""
    with opened(uri) as (client, where):
        found = client.search_runs([where], f"tags.`{TAG}` = '{name}'")
        return any(run.info.status == "FINISHED" for run in found)


def begin(name: str, settings: Settings, uri: str) -> RunLog:
    """The log of a run from now on; replaces what an interrupted command has left."""
    from mlflow.entities import Param

    discard(name, uri)
    with opened(uri) as (client, where):
        run = client.create_run(where, run_name=name, tags={TAG: name})
        params = [Param(name, str(value)) for name, value in settings.items()]
        client.log_batch(run.info.run_id, params=params)
    return MlflowRun(run.info.run_id, uri)


def discard(name: str, uri: str) -> None:
    """Delete what an interrupted command has left of a run."""
    with opened(uri) as (client, where):
        for run in client.search_runs([where], f"tags.`{TAG}` = '{name}'"):
            client.delete_run(run.info.run_id)


def keep(logged: LoggedRecord, uri: str) -> None:
    """Write a finished run."""
    log = begin(logged.name, logged.settings, uri)
    log.add(logged.curves)
    log.finish(logged)


class MlflowRun(RunLog):
    """A run of MLflow, RUNNING until its record is there."""

    def __init__(self, id: str, uri: str) -> None:
        super().__init__()
        self.id, self.uri = id, uri

    def write(self, curves: dict[str, Curve]) -> None:
        from mlflow.entities import Metric

        now = time.time_ns() // 10**6
        figures = [
            Metric(REFUSED.sub("-", name), value, now, step)
            for name, curve in curves.items()
            for step, value in curve
        ]
        with opened(self.uri) as (client, _):
            for start in range(0, len(figures), MOST):
                client.log_batch(self.id, metrics=figures[start : start + MOST])

    def finish(self, logged: LoggedRecord) -> None:
        self.write({name: [(0, value)] for name, value in logged.finals.items()})
        with opened(self.uri) as (client, _):
            client.log_text(self.id, logged.line, "record.json")
            if logged.model:
                client.log_artifact(self.id, str(logged.model))
            client.set_tag(self.id, TAG, logged.name)
            client.update_run(self.id, name=logged.name)
            client.set_terminated(self.id)

    def stop(self) -> None:
        with opened(self.uri) as (client, _):
            client.set_terminated(self.id, status="KILLED")


def experiment(client: MlflowClient, uri: str) -> str:
    """The id of our experiment; for a local database, its files go to the same folder."""
    found = client.get_experiment_by_name(EXPERIMENT)
    if found is not None:
        return str(found.experiment_id)
    path = Path(uri.removeprefix(SQLITE)).resolve()
    files = (path.parent / "mlflow-files").as_uri() if uri.startswith(SQLITE) else None
    return client.create_experiment(EXPERIMENT, artifact_location=files)


@contextmanager
def opened(uri: str) -> Iterator[tuple[MlflowClient, str]]:
    """Open a store and our experiment; errors of MLflow become one line."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    from mlflow.exceptions import MlflowException
    from mlflow.tracking import MlflowClient
    from sqlalchemy.exc import SQLAlchemyError

    logging.getLogger("mlflow").setLevel(logging.WARNING)
    logging.getLogger(DATABASE_LOGGER).setLevel(logging.CRITICAL)
    try:
        client = MlflowClient(tracking_uri=uri)
        yield client, experiment(client, uri)
    except (MlflowException, SQLAlchemyError, OSError) as error:
        # An error that the database raised has the words of the database in `orig`.
        raised = getattr(error, "orig", None) or getattr(error.__cause__, "orig", None) or error
        raise UserError(f"cannot track in {uri}: {first_line(raised)}; results are kept") from error
