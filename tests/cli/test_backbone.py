"""`run --backbone`: a network by name, part of a run's identity. timm is a stand-in here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

from bison_ocl import Learner
from bison_ocl.experiments.train.backbones import backbone_of, module_of
from tests.cli.calling import Call, refused

RUN = ("run", "er", "--data", "split-digits", "--memory", "20", "--set", "stream_batch=100")
CODE = """
from torch import nn

def small():
    return nn.Sequential(nn.Flatten(), nn.Linear(3072, 6))

def number():
    return 3

def broken():
    raise ValueError("no weights")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "my_backbones.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_backbones", raising=False)
    return tmp_path


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_run_with_a_named_backbone(call: Call, folder: Path) -> None:
    named = ("--backbone", "my_backbones:small", "--out", folder / "runs")
    assert call(*RUN, *named, "--save-model").status == 0
    assert call(*RUN, "--out", folder / "runs", "--set", "filters=1").status == 0
    with_it, without = records(folder / "runs" / "results.jsonl")
    assert with_it["settings"]["backbone"] == "my_backbones:small"
    assert "backbone" not in without["settings"]
    assert with_it["parameters"] == 3073 * 6 + 7 * 10
    assert "skipped" in call(*RUN, *named).err
    (model,) = (folder / "runs" / "models").iterdir()
    learner = Learner.load(model, backbone=module_of("my_backbones:small", 5))
    assert len(learner.labels) == 10
    assert call("report", folder / "runs", "--out", folder / "report").status == 0
    refused(call("rerun", f"{folder}/runs/results.jsonl:1"), "run --backbone my_backbones:small")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("my_backbones:large", "has no attribute 'large'; check the name"),
        ("my_backbones:number", "expected a torch.nn.Module, found a int"),
        ("my_backbones:broken", "broken failed (ValueError: no weights): correct the function"),
        ("no_such_package:small", "No module named 'no_such_package'"),
        ("small", "expected package.module:factory or timm:NAME"),
        ("timm:resnet18", "--backbone timm:resnet18: timm missing: pip install timm"),
    ],
)
def test_what_is_no_backbone_is_refused(call: Call, folder: Path, name: str, said: str) -> None:
    refused(call(*RUN, "--backbone", name, "--out", folder / "runs"), said)
    assert not (folder / "runs").exists()


def test_filters_have_no_effect_on_it(call: Call, folder: Path) -> None:
    named = ("--backbone", "my_backbones:small", "--out", folder / "runs")
    refused(call(*RUN, *named, "--set", "filters=4"), "no effect with --backbone: leave it out")


def test_weights_are_drawn_by_the_runs_seed(folder: Path) -> None:
    one, same, other = (module_of("my_backbones:small", seed) for seed in (1, 1, 2))
    first, again, apart = (next(net.parameters()) for net in (one, same, other))
    assert torch.equal(first, again)
    assert not torch.equal(first, apart)


def test_a_network_of_timm_is_pretrained_and_normalised(monkeypatch: pytest.MonkeyPatch) -> None:
    timm, asked = ModuleType("timm"), []

    def create_model(name: str, **options: Any) -> nn.Module:
        asked.append((name, options))
        net = nn.Flatten()
        net.pretrained_cfg = {"mean": (0.5, 0.5, 0.5), "std": (0.25, 0.25, 0.25)}  # type: ignore[assignment]
        return net

    timm.create_model = create_model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "timm", timm)
    network = backbone_of("timm:resnet18", 0, (3, 2, 2))
    assert asked == [("resnet18", {"pretrained": True, "num_classes": 0})]
    z, _ = network({}, {}, torch.ones(1, 3, 2, 2), "eval")
    assert z.tolist() == [[2.0] * 12]
