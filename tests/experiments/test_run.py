"""A run: every image once, tested at task ends, recorded in the dataset's own class ids."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

from bison_ocl.experiments.records import commit, environment
from bison_ocl.experiments.terminal.lines import title
from bison_ocl.experiments.train.group import Group
from bison_ocl.experiments.train.run import Run
from bison_ocl.methods.bison import Bison
from bison_ocl.methods.settings import settings_of
from tests.contract.test_resume import Watcher, fresh, train
from tests.tiny import size


class Diary(Watcher):
    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[int, int]] = []
        self.tests: list[tuple[int, float]] = []

    def stepped(self, task: int, step: int) -> None:
        self.steps.append((task, step))

    def tested(self, task: int, accuracy: float) -> None:
        self.tests.append((task, accuracy))


@pytest.fixture(scope="module")
def done() -> tuple[Run, dict[str, object], Diary]:
    run, diary = fresh("bison"), Diary()
    return run, train(run, diary), diary


def test_every_image_is_seen_once(done: tuple[Run, dict[str, object], Diary]) -> None:
    run, _, diary = done
    assert run.steps == 12
    assert diary.steps == [(i // 4, i + 1) for i in range(12)]
    assert run.me.memory.seen == 102
    assert (run.me.step, run.me.task) == (12, 3)


def test_watchers_hear_the_accuracy_of_the_tasks_so_far(
    done: tuple[Run, dict[str, object], Diary],
) -> None:
    _, record, diary = done
    matrix = np.array(record.accuracy)
    wanted = [(k, pytest.approx(matrix[k, : k + 1].mean())) for k in range(3)]
    assert diary.tests == wanted


def test_the_record_counts_in_the_datasets_ids(
    done: tuple[Run, dict[str, object], Diary],
) -> None:
    run, record, _ = done
    order = record.class_order
    assert order == list(run.stream.order)
    confusion = np.array(record.confusion)
    assert confusion.shape == (3, 6, 6)
    assert record.class_names == list(run.stream.dataset.class_names)
    assert confusion[0].sum(1).nonzero()[0].tolist() == sorted(run.stream.order[:2])
    assert (confusion[-1].sum(1) == 5).all()
    matrix = np.array(record.accuracy)
    for task in range(3):
        own = list(run.stream.order[2 * task : 2 * task + 2])
        assert matrix[-1, task] == pytest.approx(confusion[-1][own, own].sum() / 10)


def test_the_record_keeps_the_methods_own_settings_beside_those_of_the_run(
    done: tuple[Run, dict[str, object], Diary],
) -> None:
    _, record, _ = done
    assert record.settings["filters"] == 2
    assert record.method_preset == settings_of(Bison()) != record.settings


def test_times_add_up(done: tuple[Run, dict[str, object], Diary]) -> None:
    _, record, _ = done
    timing = record.timing
    assert timing.total_s == pytest.approx(timing.train_s + timing.test_s)
    assert timing.ms_per_step == pytest.approx(1e3 * timing.train_s / 12)
    assert timing.seeds_at_once == 1
    assert timing.peak_MB is None


def test_the_precision_reaches_the_network_and_the_record() -> None:
    plain, low = fresh("er"), fresh("er", precision="bf16")
    found = [run.me.net.design.backbone.precision for run in (plain, low)]  # type: ignore[attr-defined]
    assert found == ["fp32", "bf16"]
    assert train(low, Watcher()).precision == "bf16"


def test_watchers_of_many_runs_name_the_first() -> None:
    runs = [fresh("er", seed) for seed in (4, 5, 6)]
    assert title(runs[0]) == "er seed 4"
    Group(runs)
    assert title(runs[0]) == "er seed 4 and 2 more"


def test_the_environment_says_where_numbers_come_from() -> None:
    found = environment.environment("cpu")
    assert found.torch == torch.__version__
    assert found.threads == torch.get_num_threads()
    known = commit.commit()
    assert known is None or len(known.removesuffix("+changed")) == 40


def test_a_wheel_says_what_it_was_built_from(tmp_path: Path) -> None:
    assert commit.built_from(tmp_path) is None
    (tmp_path / "commit.txt").write_text("abc\n")
    assert commit.built_from(tmp_path) == "abc"
    (tmp_path / "commit.txt").write_text("")
    assert commit.built_from(tmp_path) is None


def test_any_edit_of_the_source_is_told(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=x", "-c", "user.email=x"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)

    package = tmp_path / "package"
    (package / "methods").mkdir(parents=True)
    (package / "methods" / "er.py").write_text("1")
    assert commit.commit_of(package) is None
    git("init")
    (tmp_path / "beside").write_text("1")
    git("add", "beside")
    git("commit", "-m", "x")
    assert commit.commit_of(package) is None  # somebody else's checkout
    git("add", ".")
    git("commit", "-m", "y")
    clean = commit.commit_of(package)
    assert clean is not None
    assert len(clean) == 40
    (tmp_path / "beside").write_text("2")
    assert commit.commit_of(package) == clean
    (package / "methods" / "own.py").write_text("1")
    assert commit.commit_of(package) == f"{clean}+changed"
    (package / "methods" / "own.py").unlink()
    (package / "methods" / "er.py").write_text("2")
    assert commit.commit_of(package) == f"{clean}+changed"


def test_the_record_counts_what_is_trained(done: tuple[Run, dict[str, object], Diary]) -> None:
    run, record, _ = done
    assert record.parameters == size(run.me.net.params)
