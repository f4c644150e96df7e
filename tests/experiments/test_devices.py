"""What a device is given and asked. There may be no GPU here: `meta` stands for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from bison_ocl.batch import Batch
from bison_ocl.errors import UserError
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
    assert devices.moved(data.train, "cpu") is data.train


def test_batches_are_gathered_where_the_data_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "free_bytes", lambda: 10**9)
    streams = [class_incremental(dataset(), seed) for seed in range(3)]
    there = devices.resident(dataset(), "meta")
    for stream in streams:
        object.__setattr__(stream, "dataset", there)
    batches = list(side_by_side(streams, 0, 10))
    assert [batch.x.shape for batch in batches] == [(3, 10, 3, 8, 8)] * 3 + [(3, 4, 3, 8, 8)]
    assert all(batch.x.is_meta and batch.y.is_meta for batch in batches)
    assert all(devices.moved(batch, "meta") is batch for batch in batches)


def test_a_batch_of_the_host_is_page_locked_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    locked: list[torch.Size] = []

    def lock(leaf: torch.Tensor) -> torch.Tensor:
        locked.append(leaf.shape)
        return leaf

    monkeypatch.setattr(torch.Tensor, "pin_memory", lock)
    batch: Batch = devices.moved(dataset().train[:5], "meta")
    assert batch.x.is_meta
    assert batch.y.is_meta
    assert locked == [(5, 3, 8, 8), (5,)]


@pytest.fixture
def flags() -> Iterator[None]:
    backends = torch.backends.cudnn, torch.backends.cuda.matmul
    before = [backend.allow_tf32 for backend in backends]
    yield
    for backend, value in zip(backends, before, strict=True):
        backend.allow_tf32 = value


@pytest.mark.usefixtures("flags")
@pytest.mark.parametrize(
    ("name", "convolutions"), [("tf32", True), ("bf16", True), ("fp32", False)]
)
def test_tf32_is_for_convolutions_alone(name: str, convolutions: bool) -> None:
    torch.backends.cuda.matmul.allow_tf32 = True
    devices.use_precision(devices.checked_precision(name))
    assert torch.backends.cudnn.allow_tf32 is convolutions
    assert torch.backends.cuda.matmul.allow_tf32 is False


@pytest.mark.parametrize("name", ["fp16", "", "TF32", "float32"])
def test_other_precisions_are_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"--precision {name}: choose tf32, bf16 or fp32"):
        devices.checked_precision(name)


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


def test_own_kernels_need_a_gpu_and_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "find_spec", lambda name: object())
    assert not devices.has_kernels("cpu")
    assert devices.has_kernels("cuda")
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    assert not devices.has_kernels("cuda")
