"""Other inference rules on the same trained network, in the same record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bison_ocl.errors import UserError
from bison_ocl.experiments.train.run import Run
from bison_ocl.experiments.train.runner import Job, run
from bison_ocl.inference.readouts import READOUTS
from tests.digits import shrunk, use


@pytest.fixture(autouse=True)
def small_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, shrunk)


class Nobody:
    def stepped(self, task: int, step: int) -> None: ...

    def tested(self, task: int, accuracy: float) -> None: ...

    def paused(self, runs: Sequence[Run]) -> None: ...


def job(folder: Path, method: str = "er", **changes: Any) -> Job:
    small = {"filters": "2", "stream_batch": "40"}
    return Job(method, "split-digits", 20, [7], small, folder, **changes)


def records(asked: Job) -> list[dict[str, Any]]:
    return run(asked, lambda _: nullcontext(Nobody()), lambda _: None)


def test_ncm_changes_no_training_and_stands_beside_the_own_rule(tmp_path: Path) -> None:
    (plain,) = records(job(tmp_path / "plain"))
    (both,) = records(job(tmp_path / "both", also=("ncm",)))
    assert both.accuracy == plain.accuracy
    assert plain.also == {}
    found = both.also["ncm"]
    assert found.accuracy != both.accuracy
    assert pytest.approx(sum(found.accuracy[-1]) / 5) == found.metrics.AA
    last = found.confusion[-1]
    assert sum(map(sum, last)) == sum(map(sum, both.confusion[-1]))
    right = sum(row[label] for label, row in enumerate(last))
    assert right / sum(map(sum, last)) == pytest.approx(found.metrics.AA)


def test_it_is_the_own_rule_of_a_method_that_predicts_so(tmp_path: Path) -> None:
    (found,) = records(job(tmp_path, "bison", also=("ncm",)))
    assert found.also["ncm"].accuracy == found.accuracy


def test_raw_means_are_what_the_setting_gives(tmp_path: Path) -> None:
    """Training does not know how it will be tested, so one run can be scored both ways."""
    (found,) = records(job(tmp_path / "both", "bison", also=("ncm", "ncm-raw")))
    raw = job(tmp_path / "raw", "bison")
    (other,) = records(replace(raw, settings={**raw.settings, "ncm_normalise": "false"}))
    assert found.also["ncm-raw"].accuracy == other.accuracy != found.accuracy


def test_a_finished_run_without_the_rule_runs_again(tmp_path: Path) -> None:
    records(job(tmp_path))
    (found,) = records(job(tmp_path, also=("ncm",)))
    assert "ncm" in found.also
    (again,) = records(job(tmp_path))
    assert again.class_order == found.class_order
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 2


def test_unknown_rules_and_methods_without_memory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'ncm'"):
        records(job(tmp_path, also=("nmc",)))
    with pytest.raises(UserError, match="needs a memory, but this method has none"):
        records(job(tmp_path, "finetune", also=("ncm",)))
    with pytest.raises(UserError, match="needs averaged weights: add --average"):
        records(job(tmp_path, also=("averaged+ld",)))
    with pytest.raises(UserError, match="needs averaged weights, but this method keeps none"):
        records(job(tmp_path, "gdumb", also=("averaged+ld",)))
    assert not (tmp_path / "results.jsonl").exists()


def test_an_interrupted_seed_is_refused_before_any_other_is_trained(tmp_path: Path) -> None:
    asked = replace(job(tmp_path), seeds=[3, 4])
    records(replace(asked, seeds=[4]))
    (line,) = (tmp_path / "results.jsonl").read_text().splitlines()
    (tmp_path / "results.jsonl").unlink()
    folder = tmp_path / "checkpoints"
    from bison_ocl.experiments.records.spec import Spec
    from bison_ocl.methods.settings import configured, settings_of

    settings = settings_of(configured("er", "split-digits", asked.settings))
    (folder / f"{Spec('er', 'split-digits', 20, 4, settings).name}.safetensors").touch()
    with pytest.raises(UserError, match="seed 4 was interrupted"):
        records(asked)
    assert not (tmp_path / "results.jsonl").exists()
    assert line


def test_a_diverged_run_still_gives_a_record(tmp_path: Path) -> None:
    diverging = replace(job(tmp_path, "bison"), settings={"filters": "2", "lr": "1e30"})
    (found,) = records(diverging)
    assert None in found.losses.loss
    assert 0 < found.refused_steps < found.losses.steps[-1]
    assert None not in found.log[-1].values()
    assert 0 <= found.metrics.AA <= 1


def test_every_readout_of_one_network_is_in_the_record(tmp_path: Path) -> None:
    asked = job(tmp_path, also=tuple(READOUTS))
    (found,) = records(replace(asked, settings={**asked.settings, "average": "0.9"}))
    assert list(found.also) == list(READOUTS)
    assert all(0 <= one.metrics.AA <= 1 for one in found.also.values())
    assert len({str(one.confusion) for one in found.also.values()}) > len(READOUTS) // 2
    again = job(tmp_path, also=("averaged",))
    assert records(replace(again, settings={**again.settings, "average": "0.9"})) == [found]


def test_a_run_without_averages_is_another_than_one_with(tmp_path: Path) -> None:
    """Records from before there were averages are of runs without."""
    records(job(tmp_path))
    line = json.loads((tmp_path / "results.jsonl").read_text())
    del line["settings"]["average"]
    (tmp_path / "results.jsonl").write_text(json.dumps(line) + "\n")
    (found,) = records(job(tmp_path))
    assert "average" not in found.settings, "it counts as finished"
    asked = job(tmp_path)
    records(replace(asked, settings={**asked.settings, "average": "0.9"}))
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 2
