"""The Ray engine on a real cluster of two nodes, one of which is killed in the middle."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bison_ocl.errors import UserError
from bison_ocl.experiments.carry import cluster
from bison_ocl.experiments.carry.work import Outcome, attempt
from bison_ocl.experiments.records.record import Record, Timing
from bison_ocl.experiments.tracking.run_update import RunUpdate
from bison_ocl.experiments.train.runner import Job

ONE_PROCESSOR = {"num_cpus": 1, **cluster.SMALL}


class TwoNodes:
    """A cluster of two nodes with one processor each."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(initialize_head=True, head_node_args=ONE_PROCESSOR)
        self.other = self.cluster.add_node(**ONE_PROCESSOR)
        self.address: str = self.cluster.address

    def lose_a_node(self) -> None:
        """kill -9 of the second node, and of what runs on it."""
        self.cluster.remove_node(self.other, allow_graceful=False)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for name, value in cluster.QUIET.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def two_nodes() -> Iterator[TwoNodes]:
    nodes = TwoNodes()
    yield nodes
    nodes.cluster.shutdown()


class Deadly:
    """Ends the process that receives it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (1,)


class Alien:
    """Needs a package that the process which receives it does not have."""

    def __reduce__(self) -> tuple[Any, ...]:
        return __import__, ("no_such_package",)


def job(folder: Path, method: str = "er", seed: int = 0) -> Job:
    """A run of a second or so, in a folder of its own."""
    settings = {"filters": "2", "stream_batch": "20"}
    out = folder / f"{method}-{seed}"
    return Job(method, "split-digits", 20, [seed], settings, out, checkpoint_every=0.1)


def sweep(folder: Path) -> list[Job]:
    return [job(folder, "bison", 0), job(folder, "bison", 1), job(folder, "er", 0)]


def saved(unit: Job) -> bool:
    """Whether a unit has something to go on from."""
    return any((unit.out / "checkpoints").glob("*.safetensors")) or unit.results.exists()


def untimed(outcome: Outcome) -> list[Record]:
    time = Timing(0.0, 0.0, 0.0, 0.0)
    return [replace(record, timing=time, commit=None) for record in outcome.records]


@pytest.mark.slow
def test_a_node_is_lost_and_every_result_lands_once(
    two_nodes: TwoNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "RETRIES", 2)
    units = sweep(tmp_path / "there")
    deadly = replace(job(tmp_path / "deadly"), data_options={"poison": Deadly()})
    alien = replace(job(tmp_path / "alien"), data_options={"poison": Alien()})
    begun: list[Job] = []
    outcomes: list[Outcome] = []

    def kill_in_the_middle(unit: Job) -> None:
        begun.append(unit)
        if len(begun) == 2:  # one on each node
            deadline = time.monotonic() + 60
            while not all(map(saved, begun)) and time.monotonic() < deadline:
                time.sleep(0.01)
            assert not outcomes
            two_nodes.lose_a_node()

    cluster.carry_out(
        [*units, deadly, alien], kill_in_the_middle, outcomes.append, address=two_nodes.address
    )
    found = {outcome.job.out: outcome for outcome in outcomes}
    assert len(outcomes) == len(found) == len(units) + 2
    for lost, why in ((deadly, "The worker died"), (alien, "No module named 'no_such_package'")):
        assert found[lost.out].records == []
        assert why in (found[lost.out].error or "")
    for unit, alone in zip(units, sweep(tmp_path / "here"), strict=True):
        assert found[unit.out].error is None
        assert found[unit.out].job is unit
        assert untimed(found[unit.out]) == untimed(attempt(alone))


@pytest.mark.slow
@pytest.mark.usefixtures("two_nodes")
def test_without_an_address_on_this_machine_and_not_in_a_cluster_found_there(
    tmp_path: Path,
) -> None:
    begun: list[Job] = []
    outcomes: list[Outcome] = []
    updates: list[RunUpdate] = []
    unit = job(tmp_path, "finetune")
    cluster.carry_out([unit], begun.append, outcomes.append, on_update=updates.append)
    assert begun == [unit]
    tasks = [len(update.curves.get("by_task/accuracy", ())) for update in updates]
    assert tasks == sorted(tasks)
    assert {1, 2, 3, 4, 5} <= set(tasks)  # the rest are checkpoints
    assert [record.seed for outcome in outcomes for record in outcome.records] == [0]


def test_a_node_that_sees_the_folder_works_in_it(tmp_path: Path) -> None:
    unit = cluster.marked(job(tmp_path, "finetune"), "now")
    begun, outcome = cluster.unit(unit, "now")
    assert begun is None
    assert outcome is not None
    assert outcome.error is None
    assert unit.results.exists()


def test_a_node_that_does_not_see_the_folder_leaves_nothing_in_one_of_that_name(
    tmp_path: Path,
) -> None:
    unit = cluster.marked(job(tmp_path, "finetune"), "earlier")
    _, outcome = cluster.unit(unit, "now")
    assert outcome is not None
    assert len(outcome.records) == 1
    assert not unit.results.exists()


def test_a_gpu_unit_asks_for_a_gpu_and_is_refused_where_there_is_none(tmp_path: Path) -> None:
    unit = replace(job(tmp_path), device="cuda")
    assert cluster.needs(unit)["num_gpus"] == 1
    cluster.check_placeable([unit], {"CPU": 8.0, "GPU": 2.0})
    cluster.check_placeable([job(tmp_path)], {"CPU": 8.0})
    with pytest.raises(UserError, match="--device cpu"):
        cluster.check_placeable([unit], {"CPU": 8.0})


def test_without_ray(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install 'bison-ocl\[cluster\]'"):
        cluster.carry_out([job(tmp_path)], print, print)


@pytest.mark.slow
def test_an_address_where_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 3.0)
    start = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(UserError, match=f"no Ray cluster answers at {address}"):
            cluster.connected(address)
    assert time.monotonic() - start < 60  # and not for minutes, as Ray itself


@pytest.mark.parametrize("address", ["ray://host:10001", "nonsense"])
def test_an_address_that_cannot_be_one(address: str) -> None:
    with pytest.raises(UserError, match=address):
        cluster.connected(address)
