"""`bison-ocl serve` killed amid its work: no acknowledged image is lost, none is learned twice."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import pytest
import requests

from bison_ocl import Learner
from bison_ocl.serve.service import Service, journal_of
from tests.serve.serving import Process, eventually, labelled, saved
from tests.serve.test_service import equal


def fed(server: Process, first: int, acknowledged: list[int]) -> None:
    """Observe call after call until the server is gone."""
    call = first
    try:
        while True:
            server.observe(*labelled(7, seed=call))
            acknowledged.append(call)
            call += 1
    except requests.RequestException:
        return


@pytest.mark.slow
@pytest.mark.parametrize("save_every", ["0.05", "600"])
def test_nothing_acknowledged_is_lost(save_every: str, tmp_path: Path) -> None:
    path = tmp_path / "herd.safetensors"
    saved(path)
    reference = Learner.load(path)
    learned = 0
    for kill in range(2):
        server = Process(path, "--save-every", save_every)
        acknowledged: list[int] = []
        client = threading.Thread(target=fed, args=(server, learned, acknowledged))
        client.start()
        eventually(lambda found=acknowledged: len(found) > 5)
        time.sleep(0.013 * kill)
        server.kill()
        client.join()
        Service(path).close()  # replays the journal
        found = Learner.load(path)
        for call in range(learned, acknowledged[-1] + 1):
            reference.test_then_train(*labelled(7, seed=call))
        learned = acknowledged[-1] + 1
        if found.metrics.counts.images > reference.metrics.counts.images:  # kept, not answered
            reference.test_then_train(*labelled(7, seed=learned))
            learned += 1
        assert equal(found, reference)
        assert journal_of(path).stat().st_size == 0


@pytest.mark.slow
def test_a_signal_saves_and_ends_with_status_0(tmp_path: Path) -> None:
    path = tmp_path / "herd.safetensors"
    saved(path)
    shutil.copy(path, tmp_path / "before")
    server = Process(path)
    server.observe(*labelled(12, seed=1))
    second = Process.refused(path)
    assert second == f"bison-ocl: another process works on {path}: wait for it or stop it\n"
    assert server.stop() == (0, f"saved {path}\n", "")
    reference = Learner.load(tmp_path / "before")
    reference.test_then_train(*labelled(12, seed=1))
    assert equal(Learner.load(path), reference)


@pytest.mark.slow
def test_the_file_is_saved_while_serving(tmp_path: Path) -> None:
    path = tmp_path / "herd.safetensors"
    saved(path)
    server = Process(path, "--save-every", "0.2")
    server.observe(*labelled(12, seed=1))
    eventually(lambda: journal_of(path).stat().st_size == 0)
    server.kill()
    assert Learner.load(path).metrics.counts.images == 12
