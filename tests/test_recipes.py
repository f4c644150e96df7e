"""The recipes of docs/LEARNER.md run as they are printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests
import torch
from PIL import Image
from torch.utils.data import TensorDataset

from bison_ocl import Learner
from bison_ocl.serve.app import Server
from bison_ocl.serve.service import Service
from tests.learners import herd
from tests.serve.serving import in_thread

DOCUMENT = (Path(__file__).parents[1] / "docs" / "LEARNER.md").read_text("utf-8")
SERVER = "http://127.0.0.1:8000"
NAMES = ["bison", "crane", "otter", "whale"]


def recipes() -> dict[str, str]:
    """The code of each section by its heading; every section has some."""
    parts = re.split(r"^## (.+)$", DOCUMENT, flags=re.M)[1:]
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    return {name: code(text) for name, text in sections.items()}


def code(text: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))


def given() -> dict[str, Any]:
    """What the document says its examples begin with."""
    x, y = herd(60)
    images = np.ascontiguousarray(x.permute(0, 2, 3, 1).numpy())
    labels = [NAMES[i] for i in y]
    return {
        "images": images,
        "labels": labels,
        "dataset": TensorDataset(x, torch.tensor(y)),
        "stream": list(zip(images, labels, strict=True)),
    }


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    learner = Learner("er", memory=20, filters=2)
    learner.observe(given()["images"][:12], given()["labels"][:12])
    learner.save("served.safetensors")
    with in_thread(Server(Service(Path("served.safetensors")))) as found:
        yield found


def ran(name: str, server: str = SERVER, **more: Any) -> dict[str, Any]:
    """The names that a recipe leaves."""
    space, text = given() | more, recipes()[name].replace(SERVER, server)
    exec(compile(text, f"docs/LEARNER.md, {name}", "exec"), space)
    return space


def test_every_section_has_a_recipe_and_a_row() -> None:
    assert all(recipes().values())
    linked = re.findall(r"\(#([\w-]+)\) \|$", DOCUMENT, re.M)
    assert linked == [name.lower().replace(" ", "-") for name in recipes()]


def test_a_folder_that_fills(folder: Path) -> None:
    for number, (image, label) in enumerate(given()["stream"][:25]):
        place = folder / "arrivals" / label
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"{number}.png")
    half_written = folder / "arrivals" / "otter" / "now.png"
    half_written.write_bytes((folder / "arrivals" / NAMES[0] / "0.png").read_bytes()[:40])
    left = ran("A folder that fills")
    assert left["learner"].metrics.counts.images == len(left["seen"]) == 25
    assert half_written.relative_to(folder) not in left["seen"]


def test_a_data_loader() -> None:
    learner = ran("A DataLoader")["learner"]
    assert (learner.metrics.steps, learner.metrics.waiting) == (6, 0)


def test_several_threads() -> None:
    assert ran("Several threads")["learner"].metrics.steps == 6


def test_restart_after_a_crash(folder: Path) -> None:
    class Crash(Exception):
        pass

    def broken() -> Iterator[Any]:
        for place in range(3):
            yield from [(x, f"{y} {place}") for x, y in given()["stream"]]
        raise Crash

    with pytest.raises(Crash):
        ran("Restart after a crash", stream=broken())
    assert Learner.load("herd.safetensors").metrics.counts.images == 100
    stream = [(x, f"{y} {place}") for place in range(3) for x, y in given()["stream"]]
    again = ran("Restart after a crash", stream=stream)["learner"]
    (folder / "herd.safetensors").unlink()
    whole = ran("Restart after a crash", stream=stream)["learner"]
    assert again.metrics.counts.images == whole.metrics.counts.images == 180
    np.testing.assert_array_equal(
        again.predict_proba(given()["images"]), whole.predict_proba(given()["images"])
    )


@pytest.mark.parametrize(
    "name", ["Confidence", "Your own backbone", "Erasure", "scikit-learn and river"]
)
def test_other_recipes(name: str) -> None:
    ran(name)


def test_export(folder: Path) -> None:
    left = ran("Export")
    assert left["names"] == left["learner"].labels
    assert torch.export.load("model.pt2")


def test_serve(address: str) -> None:
    assert SERVER in recipes()["Serve"]
    assert ran("Serve", address)["answer"].status_code == 200
    assert "bison_ocl_tested_total 30" in requests.get(f"{address}/metrics").text
