"""The tutorials run as they are written, and their methods keep the contract."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bison_ocl.contract.checks import CHECKS, Check, fault
from bison_ocl.losses.dark_experience import dark_experience
from bison_ocl.methods import method_class, outside
from bison_ocl.methods.derpp import DERPlusPlus
from tests.tiny import begin, labelled, stream, train

TUTORIALS = Path(__file__).parent.parent / "docs/tutorials"


def printed(script: str, folder: Path) -> str:
    """What a script prints, run in a folder; `bison-ocl` need not be on the path, as in Jupyter."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=os.environ | {"PATH": os.defpath},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_digits_to_figures(tmp_path: Path) -> None:
    """With one seed: the figures of several are tested elsewhere."""
    script = (TUTORIALS / "digits_to_figures.py").read_text("utf-8")
    assert 'SEEDS = "0-2"' in script
    said = printed(script.replace('SEEDS = "0-2"', 'SEEDS = "0"'), tmp_path)
    assert all(f"\n{method} " in said for method in ("bison", "er", "finetune"))
    assert (tmp_path / "digits/report/report.html").is_file()
    assert list((tmp_path / "digits/report/figures").glob("*.pdf"))


@pytest.mark.slow
def test_own_folder(tmp_path: Path) -> None:
    said = printed((TUTORIALS / "own_folder.py").read_text("utf-8"), tmp_path)
    assert "of 160 training images are right" in said
    assert "['zero', 'one', 'two', 'three', 'inverted']" in said
    assert (tmp_path / "pictures.safetensors").is_file()


@pytest.mark.parametrize("name", ["DarkExperience", "AveragedTeacher"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_written_methods_keep_the_contract(
    name: str, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "REGISTERED", {})
    found = method_class(f"{TUTORIALS / 'write_a_method.py'}:{name}")
    assert fault(check, found()) is None


def test_the_tutorials_dark_experience_is_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same loss from the same draws: both are Eq. 6 of the paper."""
    monkeypatch.setattr(outside, "REGISTERED", {})
    written = method_class(f"{TUTORIALS / 'write_a_method.py'}:DarkExperience")()
    me = train(DERPlusPlus(), begin(DERPlusPlus()), stream(steps=3)[:1])
    new = labelled(torch.tensor([0, 1, 1, 0]), 7)
    slots = me.memory.draw(me.key("retrieve logits"), 10)
    (view,) = DERPlusPlus().view(me, me.memory.rows(slots))
    logits = me.net(view.x, "linear", "batch")
    stored = (me.memory.fields[name][slots].repeat(2, 1) for name in ("logits", "known"))
    expected = dark_experience(logits, *stored)
    torch.testing.assert_close(written.matching(me, logits, slots), expected)  # type: ignore[attr-defined]
    assert written.update(me, new).fields.keys() == {"logits", "known"}
