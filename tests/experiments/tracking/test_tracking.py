"""`--track`: TensorBoard files and a real MLflow store, read back."""

from __future__ import annotations

import json
import socket
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bison_ocl import cli
from bison_ocl.errors import UserError
from bison_ocl.experiments.records.record import as_values, from_values
from bison_ocl.experiments.tracking import mlflow, tracker
from bison_ocl.experiments.tracking.logged_record import logged_record
from bison_ocl.files import durable
from tests.experiments.tracking.example import record


def fail(text: str) -> None:
    raise AssertionError(text)


def events(folder: Path) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder))
    found.Reload()
    return found


def settings_in(found: Any) -> dict[str, Any]:
    """What TensorBoard's page of settings reads."""
    from tensorboard.plugins.hparams import metadata

    content = found.PluginTagToContent("hparams")[metadata.SESSION_START_INFO_TAG]
    settings = metadata.parse_session_start_info_plugin_data(content).hparams
    return {name: settings[name].number_value for name in settings}


def test_tensorboard_holds_the_story_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logged = logged_record(record())
    monkeypatch.setattr(durable, "is_gone", lambda _: True)
    unfinished = durable.temporary_name(tmp_path / "tensorboard" / logged.name)
    unfinished.mkdir(parents=True)
    (unfinished / "events.out.tfevents.0").write_bytes(b"of a command that was killed")
    show = tracker("tensorboard", tmp_path, fail)
    show.keep(record())
    show.keep(from_values(json.loads(json.dumps(as_values(record())))))
    (folder,) = (tmp_path / "tensorboard").iterdir()
    found = events(folder)
    for name, curve in logged.curves.items():
        assert [(e.step, pytest.approx(e.value)) for e in found.Scalars(name)] == curve
    assert found.Scalars("final/AA")[0].value == pytest.approx(logged.finals["final/AA"])
    assert settings_in(found).keys() == logged.settings.keys()
    assert settings_in(found)["filters"] == 2
    assert json.loads((folder / "record.json").read_text()) == as_values(record())


def scanned(path: Path) -> dict[str, set[str]]:
    """Names of runs, final numbers and curves in a file of W&B."""
    from wandb.proto.wandb_internal_pb2 import Record as Line
    from wandb.sdk.internal.datastore import DataStore

    store, found = DataStore(), {"run": set(), "summary": set(), "history": set()}
    store.open_for_scan(str(path))
    while (data := store.scan_data()) is not None:
        line = Line()
        line.ParseFromString(data)
        found["run"] |= {line.run.display_name} - {""}
        found["summary"] |= {one.key or ".".join(one.nested_key) for one in line.summary.update}
        found["history"] |= {one.key or ".".join(one.nested_key) for one in line.history.item}
    store._fp.close()
    return found


@pytest.mark.slow
def test_wandb_keeps_the_story_once_and_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WANDB_MODE", "WANDB_PROJECT", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    show = tracker("wandb", tmp_path, fail)
    show.keep(record())
    show.keep(from_values(json.loads(json.dumps(as_values(record())))))
    (kept,) = (tmp_path / "wandb").glob("wandb/offline-run-*/*.wandb")
    found, logged = scanned(kept), logged_record(record())
    assert found["run"] == {logged.name}
    assert logged.finals.keys() <= found["summary"]
    assert logged.curves.keys() <= found["history"]
    assert json.loads((kept.parent / "files" / "record.json").read_text()) == as_values(record())
    assert (tmp_path / "wandb" / f"finished-{logged_record(record()).name}").exists()


@pytest.mark.slow
def test_mlflow_holds_the_story_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    logged = logged_record(record())
    models = tmp_path / "models"
    models.mkdir()
    (models / f"{logged.name.rpartition('-')[0]}.safetensors").write_bytes(b"weights")
    show = tracker("mlflow", tmp_path, fail)
    uri = mlflow.default(tmp_path)
    with mlflow.opened(uri) as (client, where):  # as a command leaves it that was killed
        client.create_run(where, tags={mlflow.TAG: logged.name})
    show.keep(record())
    show.keep(from_values(json.loads(json.dumps(as_values(record())))))
    with mlflow.opened(uri) as (client, where):
        (run,) = client.search_runs([where])
        assert run.info.status == "FINISHED"
        assert run.data.params == {name: str(value) for name, value in logged.settings.items()}
        assert logged.finals.items() <= run.data.metrics.items()
        for name, curve in logged.curves.items():
            history = client.get_metric_history(run.info.run_id, name)
            assert [(metric.step, metric.value) for metric in history] == curve
    files = {path.name: path for path in (tmp_path / "mlflow-files").rglob("*") if path.is_file()}
    assert len(files) == 2
    assert json.loads(files.pop("record.json").read_text()) == as_values(record())
    assert files.popitem()[1].read_bytes() == b"weights"


@pytest.mark.slow
def test_mlflow_takes_readouts_of_averaged_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    scores = record().also["ncm"]
    tracker("mlflow", tmp_path, fail).keep(replace(record(), also={"averaged+ncm": scores}))
    with mlflow.opened(mlflow.default(tmp_path)) as (client, where):
        (run,) = client.search_runs([where])
    assert run.info.status == "FINISHED"
    assert run.data.metrics["final_averaged-ncm/AA"] == scores.metrics.AA


@pytest.mark.slow
def test_run_tracks_also_what_was_finished_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["run", "finetune", "--data", "split-digits", "--set", "filters=2", "--save-model"]
    words += ["--set", "stream_batch=20", "--device", "cpu", "--out", str(tmp_path)]
    for seeds, more in (("0", []), ("0-1", ["--track", "tensorboard"])):
        monkeypatch.setattr(sys, "argv", ["bison-ocl", *words, "--seeds", seeds, *more])
        with pytest.raises(SystemExit, match=r"^0$"):
            cli.main()
    folders = list((tmp_path / "tensorboard").iterdir())
    assert len(folders) == 2
    assert all(list(folder.glob("*.safetensors")) for folder in folders)


@pytest.mark.parametrize("kind", ["tensorboard", "mlflow"])
def test_without_the_packages(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch.utils.tensorboard", "mlflow.exceptions", "mlflow.tracking"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UserError, match=r"pip install 'bison-ocl\[tracking\]'"):
        tracker(kind, tmp_path, fail)


def test_an_unknown_tracker(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'mlflow'"):
        tracker("mflow", tmp_path, fail)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for choice in (f"tensorboard:{tmp_path}/file", f"mlflow:sqlite:///{tmp_path}/file/mlflow.db"):
        with pytest.raises(UserError, match="cannot write to"):
            tracker(choice, tmp_path, fail)


def test_a_database_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_text("something else")
    with pytest.raises(UserError, match="file is not a database; results are kept"):
        tracker(f"mlflow:sqlite:///{tmp_path}/mlflow.db", tmp_path, fail)


def test_a_server_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlflow, "PATIENCE", 0.2)
    start = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as mute:
        uri = f"http://127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(UserError, match=f"no MLflow server answers at {uri}"):
            tracker(f"mlflow:{uri}", tmp_path, fail)
    assert time.monotonic() - start < 5
