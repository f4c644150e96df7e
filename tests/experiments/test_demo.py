"""The demo has the same numbers on every machine."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from bison_ocl.experiments import demo
from bison_ocl.experiments.train.runner import Job


@pytest.mark.parametrize("threads", [1, 3])
def test_it_computes_with_two_threads_whatever_the_machine_has(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, found = torch.get_num_threads(), []

    def run(job: Job, *_: object) -> list[dict[str, object]]:
        found.append(torch.get_num_threads())
        return []

    monkeypatch.setattr(demo, "run", run)
    try:
        torch.set_num_threads(threads)
        demo.train_all(tmp_path, [0])
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert found == [2, 2, 2]
