"""`export`: a saved learner as a model, and refusals in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from bison_ocl import Learner
from tests.cli.calling import Call, refused
from tests.learner.test_export import by_torch, check_same, learned, shown


def test_the_command_exports_a_saved_learner(call: Call, tmp_path: Path) -> None:
    learner = learned("bison", backbone=None, filters=2)
    learner.save(tmp_path / "herd.safetensors")
    said = call("export", tmp_path / "herd.safetensors", tmp_path / "model.pt2")
    assert said.out == (
        f"wrote {tmp_path / 'model.pt2'}: 4 classes, images as uint8 [B, 3, H, W]\n"
    )
    check_same(by_torch(tmp_path / "model.pt2", shown(50)), learner, shown(50))


def test_a_backbone_of_ones_own_is_named(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    learner = learned("er")
    learner.save("herd.safetensors")
    Path("my_networks.py").write_text("from tests.learners import backbone as small\n")
    said = call("export", "herd.safetensors", "model.pt2", "--backbone", "my_networks:small")
    assert said.status == 0, said
    check_same(by_torch(Path("model.pt2"), shown(50)), learner, shown(50))
    wrong = call("export", "herd.safetensors", "model.pt2", "--backbone", "my_networks:large")
    refused(wrong, "--backbone my_networks:large", "check the name")


def test_the_command_refuses_in_one_line(call: Call, tmp_path: Path) -> None:
    file, out = tmp_path / "herd.safetensors", tmp_path / "model.onnx"
    refused(call("export", file, out), "no file", "check the path")
    file.write_bytes(b"not a learner")
    refused(call("export", file, out), "truncated or not a bison-ocl file")
    refused(call("export", file, tmp_path / "model.txt"), "expected .onnx or .pt2")
    refused(call("export", file, tmp_path / "no" / "model.onnx"), "no folder")
    refused(call("export", file, out, "--input", "int8"), "int8")
    learned("er").save(file)
    refused(call("export", file, out), "was saved with another backbone")
    young = Learner("er", memory=20, filters=2)
    young.observe(shown(3), ["a", "b", "c"])
    young.save(file)
    refused(call("export", file, out), "nothing has been learned yet")
    assert not out.exists()
