"""What a device is given and asked. There may be no GPU here: `meta` stands for one."""

from __future__ import annotations

import pytest
import torch

from bison_ocl.engine.execution import Execution
from bison_ocl.experiments.train import devices
from bison_ocl.stream.class_incremental import class_incremental
from bison_ocl.stream.tasks import side_by_side
from tests.contract.test_resume import dataset

TRAIN, TEST = 102 * (192 + 8), 30 * (192 + 8)
"""bytes of images and labels"""


@pytest.mark.parametrize(
    ("free", "train", "test"),
    [(2 * TRAIN, "meta", "meta"), (2 * TRAIN - 1, "cpu", "meta"), (2 * TEST - 1, "cpu", "cpu")],
)
def test_splits_move_to_a_device_with_room_for_them(
    free: int, train: str, test: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "free_bytes", lambda: free)
    found = devices.resident(dataset(), "meta")
    for split, where in ((found.train, train), (found.test, test)):
        assert split.x.device.type == split.y.device.type == where
    assert found.class_names == dataset().class_names


@pytest.mark.parametrize(("share", "found"), [(1.0, 60), (0.8, 60), (0.5, 40)])
def test_a_share_is_of_all_memory_and_no_more_than_is_free(
    share: float, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (60, 100))
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 10)
    assert devices.free_bytes(share) == found


def test_on_a_cpu_data_stay_as_they_are() -> None:
    data = dataset()
    assert devices.resident(data, "cpu") is data


def test_batches_are_gathered_where_the_data_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "free_bytes", lambda: 10**9)
    streams = [class_incremental(dataset(), seed) for seed in range(3)]
    there = devices.resident(dataset(), "meta")
    for stream in streams:
        object.__setattr__(stream, "dataset", there)
    batches = list(side_by_side(streams, 0, 10))
    assert [batch.x.shape for batch in batches] == [(3, 10, 3, 8, 8)] * 3 + [(3, 4, 3, 8, 8)]
    assert all(batch.x.is_meta and batch.y.is_meta for batch in batches)
    assert all(Execution("meta").moved(batch) is batch for batch in batches)


def test_the_clock_waits_for_a_gpu_and_for_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[str] = []
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)
    assert devices.now("cpu") <= devices.now("cpu")
    assert waited == []
    devices.now("cuda")
    assert waited == ["cuda"]


def test_only_a_gpu_tells_its_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda _: 5_000_000)
    assert devices.peak_megabytes("cpu") is None
    assert devices.peak_megabytes("cuda") == 5.0


def test_the_peak_of_a_piece_of_work_is_on_top_of_what_is_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: done.append("reset"))
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 100)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 350)
    assert devices.peak_bytes(lambda: done.append("work")) == 250
    assert done == ["reset", "work"]
