"""Files of states: whole or untouched, checked on reading, and nothing in them that runs."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from bison_ocl.engine.step import Engine
from bison_ocl.errors import UserError
from bison_ocl.files import checkpoint
from bison_ocl.methods.bison import Bison
from bison_ocl.methods.finetune import FineTune
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.state import State
from tests.experiments.disk import room_for
from tests.tiny import begin, same, snapshot, stream, train

TENSORS = {
    "a": torch.arange(6.0).reshape(2, 3),
    "b": torch.tensor([True, False]),
    "c.d": torch.zeros(0),
}
HEADER = {"kind": "test", "text": "é", "list": [1, 2.5, None]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    checkpoint.write(tmp_path / "file", TENSORS, HEADER)
    return tmp_path / "file"


def test_what_is_written_is_read(path: Path) -> None:
    tensors, header = checkpoint.read(path)
    assert same(tensors, TENSORS)
    assert header == HEADER


def test_folders_are_made_and_nothing_else_is_left(tmp_path: Path) -> None:
    checkpoint.write(tmp_path / "a" / "b" / "file", TENSORS, HEADER)
    assert [p.name for p in (tmp_path / "a" / "b").iterdir()] == ["file"]


def test_views_and_other_layouts_are_written_by_value(tmp_path: Path) -> None:
    odd = torch.arange(24.0).reshape(2, 3, 2, 2).contiguous(memory_format=torch.channels_last)
    checkpoint.write(tmp_path / "file", {"odd": odd, "turned": TENSORS["a"].T}, {})
    tensors, _ = checkpoint.read(tmp_path / "file")
    assert torch.equal(tensors["odd"], odd)
    assert torch.equal(tensors["turned"], TENSORS["a"].T)


def test_a_file_is_json_and_raw_numbers(path: Path) -> None:
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    described = json.loads(data[8 : 8 + size])
    assert set(described) == {"__metadata__", *TENSORS}
    numbers = sum(t.numel() * t.element_size() for t in TENSORS.values())
    assert len(data) == 8 + size + numbers


# --- whole or untouched ---


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file(
    path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(UserError, match=r"cannot write .*file: No space left on device"):
        checkpoint.write(path, {"a": torch.ones(9)}, {})
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["file"]


def test_a_full_disk_leaves_the_old_file(path: Path) -> None:
    before = path.read_bytes()
    with (
        room_for(2000),
        pytest.raises(UserError, match=r"cannot write .*: File too large; free or choose another"),
    ):
        checkpoint.write(path, {"a": torch.ones(9999)}, {})
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["file"]


def test_data_is_on_disk_before_the_name_points_to_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    sync, rename = os.fsync, os.replace

    def note_sync(handle: int) -> None:
        events.append("folder" if Path(f"/proc/self/fd/{handle}").resolve().is_dir() else "file")
        sync(handle)

    def note_rename(*names: Any) -> None:
        events.append("rename")
        rename(*names)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_rename)
    checkpoint.write(path, TENSORS, HEADER)
    assert events == ["file", "rename", "folder"]


@pytest.mark.parametrize("place", ["/proc/nowhere/file", "below/file", "."])
def test_places_that_cannot_be_written(place: str, tmp_path: Path) -> None:
    (tmp_path / "below").write_text("a file, not a folder")
    with pytest.raises(UserError, match=r"cannot write .* choose another place"):
        checkpoint.write(tmp_path / place, TENSORS, HEADER)


# --- checked on reading ---


@pytest.mark.parametrize("keep", [0, 1, 7, 8, 9, 100, -30, -1])
def test_cut_off_files_are_refused(path: Path, keep: int) -> None:
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UserError, match="truncated or not a bison-ocl file: use another copy"):
        checkpoint.read(path)


@pytest.mark.parametrize("data", [b"hello", b"\x00" * 100, b"\xff" * 100, b"PK\x03\x04" * 10])
def test_foreign_files_are_refused(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(UserError, match="not a bison-ocl file"):
        checkpoint.read(path)


def test_other_safetensors_are_refused(path: Path) -> None:
    save_file(TENSORS, path)
    with pytest.raises(UserError, match="not written by this version"):
        checkpoint.read(path)
    save_file(TENSORS, path, {"format": "bison-ocl 99"})
    with pytest.raises(UserError, match="not written by this version"):
        checkpoint.read(path)


def test_every_flipped_bit_is_noticed(path: Path) -> None:
    data = path.read_bytes()
    for at in range(0, len(data), 3):
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        try:
            found = checkpoint.read(path)
        except UserError:
            continue
        # the flip changed nothing that is read: the spaces that pad the header
        assert data[at] == ord(" ")
        assert found[1] == HEADER


def test_changed_numbers_names_and_headers_are_refused(path: Path) -> None:
    good = {"format": checkpoint.FORMAT, "header": json.dumps(HEADER)}
    good["sha256"] = checkpoint.checksum(TENSORS, good["header"])
    other = TENSORS | {"a": TENSORS["a"] + 1}
    renamed = {"x" if name == "a" else name: value for name, value in TENSORS.items()}
    reshaped = TENSORS | {"a": TENSORS["a"].reshape(3, 2)}
    for tensors, metadata in (
        (other, good),
        (renamed, good),
        (reshaped, good),
        (TENSORS, good | {"header": "{}"}),
        (TENSORS, good | {"sha256": "0" * 64}),
        (TENSORS, {"format": checkpoint.FORMAT}),
    ):
        save_file(tensors, path, metadata)
        with pytest.raises(UserError, match="changed after it was written"):
            checkpoint.read(path)
    save_file(TENSORS, path, good)
    assert checkpoint.read(path)[1] == HEADER


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no file"):
        checkpoint.read(tmp_path / "none")
    with pytest.raises(UserError, match=r"cannot read .*: Is a directory; choose another file"):
        checkpoint.read(tmp_path)


def test_a_name_that_is_a_folder_is_not_written_to() -> None:
    with pytest.raises(UserError, match=r"cannot write '\.': it names no file"):
        checkpoint.write(Path(), TENSORS, HEADER)


# --- states ---


def stored(me: State, path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    tensors, fixed = checkpoint.pack(me)
    checkpoint.write(path, tensors, fixed)
    return checkpoint.read(path)


def test_only_rows_in_use_are_saved_and_never_the_spare(tmp_path: Path) -> None:
    method = Bison()
    engine, me = Engine(method), begin(method, capacity=20)
    batches = [batch for task in stream() for batch in task]
    me, _ = engine.step(me, batches[0])
    tensors, fixed = stored(me, tmp_path / "early")
    assert tensors["memory.x"].shape[0] == tensors["memory.y"].shape[0] == fixed["filled"] == 10
    for batch in batches[1:]:
        me, _ = engine.step(me, batch)
    tensors, fixed = stored(me, tmp_path / "late")
    assert tensors["memory.x"].shape[0] == fixed["filled"] == 20
    assert torch.equal(tensors["memory.x"], me.memory.x[:20])
    assert tensors["memory.seen"] == 120
    back = checkpoint.unpack(begin(method, capacity=20), tensors, fixed)
    assert not back.memory.x[20].any()
    assert me.memory.x[20].any()


def test_a_state_comes_back_with_its_memory_format(tmp_path: Path) -> None:
    method, net = Bison(), ResNet18(2, (3, 8, 8))
    me = begin(method, backbone=net, dtype=torch.float32)
    me = train(method, me, stream(steps=2))
    blank = begin(method, seed=1, backbone=net, dtype=torch.float32)
    back = checkpoint.unpack(blank, *stored(me, tmp_path / "file"))
    for before, after in zip(
        me.net.params["backbone"].values(), back.net.params["backbone"].values(), strict=True
    ):
        assert torch.equal(before, after)
        assert before.stride() == after.stride()
    assert back.net.params["backbone"]["layer1.0.first.weight"].stride()[1] == 1
    assert (back.later, back.closed, back.memory.filled) == (True, True, 20)
    assert same(checkpoint.pack(back)[0], checkpoint.pack(me)[0])


def test_a_state_without_memory_comes_back(tmp_path: Path) -> None:
    method = FineTune()
    me = train(method, begin(method), stream(steps=2))
    back = checkpoint.unpack(begin(method, seed=1), *stored(me, tmp_path / "file"))
    assert same(snapshot(me), snapshot(back))


def test_a_loaded_state_owns_its_numbers(tmp_path: Path) -> None:
    method = Bison()
    me = train(method, begin(method), stream(steps=2))
    back = checkpoint.unpack(begin(method), *stored(me, tmp_path / "file"))
    before = snapshot(back)
    with open(tmp_path / "file", "r+b") as file:
        file.write(b"\0" * (tmp_path / "file").stat().st_size)
    assert same(before, snapshot(back))


@pytest.mark.parametrize("change", ["missing", "shape", "dtype"])
def test_files_of_another_network_are_refused(change: str, tmp_path: Path) -> None:
    method = Bison()
    tensors, fixed = checkpoint.pack(train(method, begin(method), stream(steps=2)))
    path = "net.params.stream.weight"
    if change == "missing":
        del tensors[path]
    elif change == "shape":
        tensors[path] = tensors[path][:, 1:]
    else:
        tensors[path] = tensors[path].float()
    with pytest.raises(UserError, match=rf"does not fit this method and network \(at {path}\)"):
        checkpoint.unpack(begin(method), tensors, fixed)
