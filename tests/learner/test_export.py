"""Exported models: what `predict` says, from onnxruntime and torch.export, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor

from bison_ocl import Learner, UserError
from bison_ocl.inference.rules import RULES
from bison_ocl.learner.export import write
from bison_ocl.learner.export.answers import Answers, portable
from bison_ocl.methods import METHODS, method_class
from tests.learners import backbone
from tests.tiny import SHAPE, images

LABELS = ["bison", "crane", ("otter", 2), 7]
SHOWN = 1000


def shown(n: int, seed: int = 1) -> Tensor:
    return images(torch.arange(n) % 4, seed)


def learned(method: str, **options: Any) -> Learner:
    """A learner of a few steps, with a memory smaller than the stream."""
    rounds = {"epochs": 2} if hasattr(method_class(method), "epochs") else {}
    given = {"memory": 30 if method_class(method).replays else 0, "backbone": backbone()}
    learner = Learner(method, **(given | rounds | options))
    learner.observe(shown(65, seed=0), [LABELS[i % 4] for i in range(65)])
    return learner


Outputs = tuple[np.ndarray[Any, Any], ...]


def by_onnx(path: Path, x: Tensor) -> Outputs:
    session = onnxruntime.InferenceSession(path)
    label, scores, probabilities = session.run(None, {"images": x.numpy()})
    return label, scores, probabilities


def by_torch(path: Path, x: Tensor) -> Outputs:
    return tuple(one.numpy() for one in torch.export.load(path).module()(x))


def check_same(found: Outputs, learner: Learner, x: Tensor, of_largest: float = 0) -> None:
    """Scores to 1e-4, and the labels of `predict`, except where two classes score the same.

    of_largest: the error relative to the largest score, for rules with scores in the hundreds
    """
    label, scores, probabilities = found
    expected = learner._scores(x)[1].numpy()
    assert label.dtype == np.int64
    assert scores.dtype == probabilities.dtype == np.float32
    tolerance = max(1e-4, of_largest * np.abs(expected).max())
    np.testing.assert_allclose(scores, expected, atol=tolerance, rtol=1e-5)
    np.testing.assert_allclose(probabilities, learner.predict_proba(x), atol=1e-4)
    best, second = np.sort(expected, 1)[:, :-3:-1].T
    clear = best - second > 2e-4
    assert clear.mean() > 0.9
    named = [learner.labels[i] for i in label]
    pairs = zip(named, learner.predict(x), clear, strict=True)
    assert all(one == other for one, other, sure in pairs if sure)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_exported_with_its_own_rule(method: str, tmp_path: Path) -> None:
    learner, path = learned(method), tmp_path / "model.onnx"
    learner.export(path)
    check_same(by_onnx(path, shown(SHOWN)), learner, shown(SHOWN))


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_exported(rule: str, tmp_path: Path) -> None:
    learner, path = learned("er", rule=rule), tmp_path / "model.onnx"
    learner.export(path)
    of_largest = 1e-6 if rule.startswith("ld-centred") else 0
    check_same(by_onnx(path, shown(SHOWN)), learner, shown(SHOWN), of_largest)


@pytest.mark.parametrize("options", [{}, {"rule": "ld-mirror"}, {"average": 0.9}])
def test_the_network_of_the_package_is_exported(options: dict[str, Any], tmp_path: Path) -> None:
    learner = learned("bison", backbone=None, filters=2, **options)
    for name, answers in {"model.onnx": by_onnx, "model.pt2": by_torch}.items():
        learner.export(tmp_path / name)
        check_same(answers(tmp_path / name, shown(SHOWN)), learner, shown(SHOWN))
        check_same(answers(tmp_path / name, shown(1)), learner, shown(1))


def test_frozen_and_normalised_backbones_are_exported(tmp_path: Path) -> None:
    normalise = ((0.5, 0.4, 0.3), (0.2, 0.25, 0.3))
    frozen = backbone().requires_grad_(False)
    learner, path = learned("er-ace", backbone=frozen, normalise=normalise), tmp_path / "model.onnx"
    learner.export(path)
    check_same(by_onnx(path, shown(SHOWN)), learner, shown(SHOWN))


def test_calibrated_probabilities_are_exported(tmp_path: Path) -> None:
    learner, path = learned("bison"), tmp_path / "model.onnx"
    learner._predicting.snapshot = replace(learner._current(), temperature=0.37)
    learner.export(path)
    check_same(by_onnx(path, shown(SHOWN)), learner, shown(SHOWN))


def test_floats_are_rounded_as_predict_does(tmp_path: Path) -> None:
    learner, path = learned("bison"), tmp_path / "model.onnx"
    learner.export(path, input="float32")
    x = torch.rand((SHOWN, *SHAPE), generator=torch.Generator().manual_seed(0))
    check_same(by_onnx(path, x), learner, x)
    assert by_onnx(path, x[:0])[1].shape == (0, 4)


def test_a_class_without_an_image_is_never_the_answer(tmp_path: Path) -> None:
    learner, path = learned("bison", memory=2, buffer_batch=2), tmp_path / "model.onnx"
    learner.export(path)
    _, scores, probabilities = by_onnx(path, shown(20))
    missing = np.isneginf(scores).all(0)
    assert missing.sum() >= 2
    assert (probabilities[:, missing] == 0).all()
    np.testing.assert_allclose(probabilities.sum(1), 1, atol=1e-6)


# --- what a file holds ---


def test_a_file_names_classes_rule_and_origin(tmp_path: Path) -> None:
    learner = learned("er", rule="ncm")
    learner.export(tmp_path / "model.onnx")
    learner.export(tmp_path / "model.pt2")
    found = onnxruntime.InferenceSession(tmp_path / "model.onnx").get_modelmeta()
    facts = dict(found.custom_metadata_map)
    assert json.loads(facts["labels"]) == ["bison", "crane", {"tuple": ["otter", 2]}, 7]
    assert (facts["method"], facts["rule"], facts["input"]) == ("er", "ncm", "uint8")
    assert facts["steps"] == "6"
    assert float(facts["temperature"]) == learner._current().temperature
    asked = dict.fromkeys(facts, "")
    torch.export.load(tmp_path / "model.pt2", extra_files=asked)
    assert asked == facts


def test_the_size_of_a_batch_has_a_name(tmp_path: Path) -> None:
    learned("er").export(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    shapes = {one.name: one.shape for one in (*session.get_inputs(), *session.get_outputs())}
    assert shapes == {
        "images": ["batch", *SHAPE],
        "label": ["batch"],
        "scores": ["batch", 4],
        "probabilities": ["batch", 4],
    }


def test_class_means_are_inside(tmp_path: Path) -> None:
    learner, path = learned("bison"), tmp_path / "model.onnx"
    learner.export(path)
    means = learner._current().summary.means.numpy()
    kept = [onnx.numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer]
    assert any(one.shape == means.T.shape and np.array_equal(one.T, means) for one in kept)


@pytest.mark.parametrize("suffix", [".onnx", ".pt2"])
def test_a_file_holds_no_image_and_no_path(suffix: str, tmp_path: Path) -> None:
    learner, path = learned("lode"), tmp_path / f"model{suffix}"
    learner.export(path)
    data = path.read_bytes()
    for image in shown(65, seed=0):
        assert image.numpy().tobytes()[:48] not in data
    assert b"bison_ocl/" not in data
    assert b"site-packages" not in data


def test_only_what_predicting_reads_is_kept() -> None:
    names = [name for name, _ in Answers(learned("lode")._current(), "uint8").named_buffers()]
    assert not [name for name in names if "memory" in name or "moments" in name or "extra" in name]
    assert "state_net_stats_1_running_mean" in names


def test_networks_of_a_gpu_become_portable() -> None:
    snapshot = learned("bison", backbone=None, filters=2)._current()
    net, x = snapshot.me.net, shown(40)
    fused = replace(net.design.backbone, fused=True, precision="bf16")  # type: ignore[type-var]
    other = replace(net, design=replace(net.design, backbone=fused))
    found = Answers(replace(snapshot, me=replace(snapshot.me, net=other)), "uint8")(x)
    expected = Answers(snapshot, "uint8")(x)
    assert all(map(torch.equal, found, expected))
    assert portable(((other, None), "kept")) == ((portable(other), None), "kept")
    assert portable(other).design.backbone == replace(fused, fused=False, precision="fp32")


# --- what is refused ---


def test_a_model_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    learner = Learner("bison", memory=20)
    with pytest.raises(UserError, match="nothing has been learned yet: call observe first"):
        learner.export(tmp_path / "model.onnx")
    with pytest.raises(UserError, match=r"suffix '\.tflite'; expected \.onnx or \.pt2"):
        learner.export(tmp_path / "model.tflite")
    with pytest.raises(UserError, match=r"no suffix; expected \.onnx or \.pt2"):
        learner.export(tmp_path / "model")
    with pytest.raises(UserError, match=r"no folder .*absent; create it"):
        learner.export(tmp_path / "absent" / "model.onnx")
    with pytest.raises(UserError, match="input='int8': expected 'uint8' or 'float32'"):
        learner.export(tmp_path / "model.onnx", input="int8")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"onnx and onnxscript missing; pip install .*\[export\]"):
        learned("er").export(tmp_path / "model.onnx")


def test_a_label_that_no_file_holds_is_refused(tmp_path: Path) -> None:
    learner = Learner("er", memory=20, backbone=backbone())
    with pytest.warns(UserWarning, match="cannot be saved"):
        learner.observe(shown(10), [frozenset({i % 2}) for i in range(10)])
    with pytest.raises(UserError, match="cannot be saved"):
        learner.export(tmp_path / "model.onnx")


def test_a_failed_export_leaves_the_earlier_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.pt2"
    path.write_bytes(b"earlier")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UserError, match="No space left on device"):
        learned("er").export(path)
    assert [one.name for one in tmp_path.iterdir()] == ["model.pt2"]
    assert path.read_bytes() == b"earlier"


def test_source_that_is_not_installed_exports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("bison_ocl.version.version", absent)
    learned("er").export(tmp_path / "model.pt2")
    assert (tmp_path / "model.pt2").stat().st_size > 0
