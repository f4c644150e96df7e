"""Accuracy on split-digits stays where it was: one seed with memory 100, from the demo's run."""

from __future__ import annotations

import pytest

from tests.test_wheel import demonstrated, records

BANDS = {"bison": (0.70, 0.98), "er": (0.40, 0.85), "finetune": (0.10, 0.35)}


@pytest.mark.slow
def test_accuracies_are_in_their_bands(tmp_path_factory: pytest.TempPathFactory) -> None:
    found = records(demonstrated(tmp_path_factory))
    for method, (low, high) in BANDS.items():
        assert low <= found[method]["metrics"]["AA"] <= high, method
    forgetting = {method: record["metrics"]["AF"] for method, record in found.items()}
    assert forgetting["finetune"] > 0.5
    assert max(forgetting["er"], forgetting["bison"]) < forgetting["finetune"]
