"""A service: what it acknowledged is in its file or its journal, whenever it ends."""

from __future__ import annotations

import errno
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch

from bison_ocl import Learner, UserError
from bison_ocl.files import durable
from bison_ocl.serve import history
from bison_ocl.serve.entry import Entry
from bison_ocl.serve.history import History
from bison_ocl.serve.journal import Journal, NotKept
from bison_ocl.serve.service import Service, journal_of
from bison_ocl.serve.status import status
from tests.learners import everything, herd
from tests.serve.serving import labelled, saved
from tests.tiny import same


@pytest.fixture
def path(tmp_path: Path) -> Path:
    saved(tmp_path / "herd.safetensors")
    return tmp_path / "herd.safetensors"


Serve = Callable[[Path], Service]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Services that are closed after the test."""
    with ExitStack() as opened:

        def start(path: Path) -> Service:
            service = Service(path)
            opened.callback(service.journal.close)
            return service

        yield start


def killed(service: Service) -> None:
    """The end of a process, without its last save."""
    service.journal.close()


def equal(one: Learner, other: Learner) -> bool:
    """The same state, the same images that wait, the same counts."""
    waiting = [[x.image for x in learner._training.waiting] for learner in (one, other)]
    return (
        same(everything(one), everything(other))
        and len(waiting[0]) == len(waiting[1])
        and all(map(torch.equal, *waiting))
        and one.metrics.counts == other.metrics.counts
    )


def reference(path: Path, calls: int) -> Learner:
    """The learner of a file after calls of `observed`, without a server."""
    learner = Learner.load(path)
    for call in range(calls):
        learner.test_then_train(*labelled(7, seed=call + 1))
    return learner


def observed(service: Service, calls: range) -> None:
    for call in calls:
        service.observe(*labelled(7, seed=call + 1))


def test_a_killed_service_goes_on_where_it_was(path: Path, serve: Serve) -> None:
    wanted = reference(path, 5)
    service = serve(path)
    observed(service, range(3))
    killed(service)
    again = serve(path)
    assert equal(again.learner, reference(path, 0))  # the replay was saved
    observed(again, range(3, 5))
    assert equal(again.learner, wanted)
    again.close()
    assert equal(Learner.load(path), wanted)
    assert journal_of(path).stat().st_size == 0


def test_what_the_file_holds_is_not_learned_twice(path: Path, serve: Serve) -> None:
    """Killed after the file was written, before the journal was emptied."""
    wanted = reference(path, 4)
    service = serve(path)
    observed(service, range(3))
    lines = journal_of(path).read_bytes()
    service.save()
    observed(service, range(3, 4))
    lines += journal_of(path).read_bytes()
    killed(service)
    journal_of(path).write_bytes(lines)
    again = serve(path)
    assert equal(again.learner, wanted)


def test_held_back_images_are_not_learned_twice(path: Path, serve: Serve) -> None:
    """They take no step and wait for none, but they count."""
    saved(path, calibration=10)
    service = serve(path)
    for seed in range(30):
        service.observe(*labelled(1, seed=seed))
    lines = journal_of(path).read_bytes()
    service.save()
    killed(service)
    journal_of(path).write_bytes(lines)
    again = serve(path)
    held, before = again.learner._training.held_back, service.learner._training.held_back
    assert (held.offered, len(held.kept)) == (before.offered, len(before.kept))
    assert len(held.kept) >= 3
    assert equal(again.learner, service.learner)


def test_a_call_killed_while_learning_is_replayed_or_dropped(path: Path, serve: Serve) -> None:
    learner = Learner.load(path)
    x, y = labelled(7, seed=1)
    journal = Journal(journal_of(path))
    journal.append(Entry(0, x, list(y)))
    journal.close()
    learner.test_then_train(x, y)
    service = serve(path)
    assert equal(service.learner, learner)
    journal = service.journal
    journal.append(Entry(7, x, list(y[:3])))  # which no learner accepts
    killed(service)
    assert equal(serve(path).learner, learner)


def test_a_refused_line_before_others_is_told_and_kept(path: Path, serve: Serve) -> None:
    x, y = labelled(7, seed=1)
    journal = Journal(journal_of(path))
    for labels in (y[:3], y):
        journal.append(Entry(0, x, list(labels)))
    lines = journal_of(path).read_bytes()
    journal.close()
    with pytest.raises(UserError, match="7 images but 3 labels"):
        serve(path)
    assert journal_of(path).read_bytes() == lines


def test_the_file_is_read_when_no_other_server_can_write_it(path: Path) -> None:
    def load(path: Path) -> Learner:
        with pytest.raises(UserError, match="another process works on"):
            Journal(journal_of(path))
        return Learner.load(path)

    Service(path, load).close()


def test_a_refused_call_leaves_no_line(path: Path, serve: Serve) -> None:
    service = serve(path)
    before = everything(service.learner)
    with pytest.raises(UserError, match="7 images but 6 labels"):
        service.observe(labelled(7)[0], labelled(6)[1])
    with pytest.raises(UserError, match="images are 6x6, earlier ones 8x8"):
        service.observe(torch.zeros(1, 3, 6, 6), ["bison"])
    assert service.journal.size == 0
    assert same(everything(service.learner), before)


def test_a_call_that_breaks_leaves_no_line(
    path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be learned at the next start, and the call after it taken for the same."""
    wanted, service = reference(path, 1), serve(path)

    def broken(*_: Any) -> None:
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "test_then_train", broken)
        with pytest.raises(RuntimeError, match="out of memory"):
            service.observe(*labelled(7, seed=9))
    observed(service, range(1))
    killed(service)
    assert equal(serve(path).learner, wanted)


def test_a_refused_call_is_answered_as_such_though_the_disk_fails(
    serve: Serve, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = serve(path)

    def refuse(*_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.ftruncate", refuse)
    with pytest.raises(UserError, match="images are 6x6, earlier ones 8x8"):
        service.observe(torch.zeros(1, 3, 6, 6), ["bison"])


def test_a_journal_of_another_learner_is_refused(path: Path, serve: Serve) -> None:
    copy = path.with_name("earlier")
    shutil.copy(path, copy)
    service = serve(path)
    observed(service, range(2))
    service.save()
    observed(service, range(2, 3))
    killed(service)
    shutil.copy(copy, path)
    with pytest.raises(UserError, match=r"continues another version of .*: restore that version"):
        serve(path)
    assert journal_of(path).stat().st_size > 0


def test_a_failed_save_keeps_the_journal(
    path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = serve(path)
    observed(service, range(1))
    saved_at = service.saved_at
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "save", refusing)
        with pytest.raises(UserError, match="full"):
            service.save()
    assert (service.failed_saves, service.saved_at) == (1, saved_at)
    assert service.journal.size > 0
    wanted = everything(service.learner)
    killed(service)
    assert same(everything(serve(path).learner), wanted)


def refusing(*_: Any) -> None:
    raise UserError("the disk is full")


def test_a_save_waits_for_the_call_that_is_learned(
    path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the step it would empty the journal of images that the file does not hold."""
    wanted, service, learn = reference(path, 1), serve(path), Learner.test_then_train
    saving = threading.Thread(target=service.save)

    def begun(*given: Any) -> Any:
        saving.start()
        saving.join(0.5)
        return learn(*given)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "test_then_train", begun)
        observed(service, range(1))
        saving.join()
    killed(service)
    assert equal(serve(path).learner, wanted)


def test_forgotten_images_are_in_no_file(path: Path, serve: Serve) -> None:
    service = serve(path)
    x, y = labelled(12, seed=9)
    service.observe(x, y, [f"camera {i % 3}" for i in range(12)])
    marked = [image.numpy().tobytes() for image in x[1::3]]
    gone = service.forget(["camera 1"], None)
    assert gone > 0
    assert service.journal.size == 0
    saved_file = path.read_bytes()
    assert not any(pixels in saved_file for pixels in marked)
    assert "camera 1" not in service.learner.memory.ids
    killed(service)
    again = serve(path)
    assert "camera 1" not in again.learner.memory.ids
    assert "camera 2" in again.learner.memory.ids + [
        one.id for one in again.learner._training.waiting
    ]


def test_what_a_killed_save_left_is_forgotten_too(path: Path, serve: Serve) -> None:
    """By a container that had another name; another file's stays."""
    own, other = (
        path.with_name(f".{name}.deadbeef-12-abcdef01.partial") for name in (path.name, "other")
    )
    folder = own.with_name(own.name.replace("-12-", "-13-"))
    folder.mkdir()
    for left in (own, other, folder / "file"):
        left.write_bytes(b"pixels")
    serve(path).forget(["camera"], None)
    assert (own.exists(), folder.exists(), other.exists()) == (False, False, True)


def test_leftovers_that_stay_are_told_after_forgetting(
    path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = serve(path)
    service.observe(*labelled(2), ["camera", "other"])
    path.with_name(f".{path.name}.deadbeef-12-abcdef01.partial").write_bytes(b"pixels")

    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(durable, "remove", refuse)
    with pytest.raises(NotKept, match=r"forgot 1 image, but .* denied; remove its hidden"):
        service.forget(["camera"], None)
    assert "camera" not in Learner.load(path).memory.all_ids


def test_a_line_is_never_learned_after_its_images_were_forgotten(
    path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at any moment of `forget`: the journal was empty before the learner forgot."""
    service = serve(path)
    service.observe(*labelled(3, seed=9), ["camera"] * 3)
    sizes: list[int] = []
    forget = Learner.forget

    def watched(learner: Learner, **names: Any) -> int:
        sizes.append(service.journal.size)
        return forget(learner, **names)

    monkeypatch.setattr(Learner, "forget", watched)
    assert service.forget(["camera"], None) == 3
    assert sizes == [0]


def test_predictions_are_those_of_the_learner(path: Path, serve: Serve) -> None:
    service = serve(path)
    x, _ = herd(30, seed=5)
    found = service.predict(x)
    assert [label for label, _ in found] == service.learner.predict(x)
    best = service.learner.predict_proba(x).max(1)
    assert [p for _, p in found] == pytest.approx(best.tolist())
    sure = service.predict(x, reject_below=best.mean())
    assert [label for label, _ in sure] == service.learner.predict(x, reject_below=best.mean())
    assert {None} < {label for label, _ in sure}


def test_a_learner_that_forgot_every_image_refuses_to_predict(path: Path, serve: Serve) -> None:
    learner = Learner("bison", memory=20, filters=2)
    x, y = labelled(20)
    learner.observe(x, y, ids=["camera"] * 20)
    learner.save(path)
    service = serve(path)
    assert service.forget(["camera"], None) == 20
    with pytest.raises(UserError, match="no image is stored to compare with"):
        service.predict(x)
    assert service.observe(x[:10], y[:10]) == [None] * 10
    assert all(0 < p <= 1 for _, p in service.predict(x))


def test_a_missing_file_leaves_no_journal(tmp_path: Path, serve: Serve) -> None:
    with pytest.raises(UserError, match=r"no file .*: check the path"):
        serve(tmp_path / "absent")
    assert list(tmp_path.iterdir()) == []


# --- what it shows ---


def test_status_and_memory_count_what_is_there(path: Path, serve: Serve) -> None:
    service = serve(path)
    observed(service, range(4))
    found, metrics = status(service), service.learner.metrics
    assert (found["steps"], found["waiting"]) == (metrics.steps, metrics.waiting) == (4, 1)
    assert (found["tested"], found["accuracy"]) == (28, metrics.accuracy)
    assert [point[1] for point in found["history"]] == [7, 14, 21, 28]
    stored = {one["label"]: one["stored"] for one in found["classes"] if one["stored"]}
    assert stored == service.learner.memory.counts
    assert sum(stored.values()) == found["memory"]["stored"] == 20
    assert found["memory"]["capacity"] == 20


def test_history_stays_small_and_ends_with_the_newest(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MOST", 8)
    metrics, points = Learner.load(path).metrics, History()
    for second in range(100):
        points.add(float(second), metrics)
        assert points.points[-1].seconds == second
        assert points.points[0].seconds == 0
        assert len(points.points) <= 9
    gaps = {b.seconds - a.seconds for a, b in zip(points.kept, points.kept[1:], strict=False)}
    assert len(gaps) == 1
