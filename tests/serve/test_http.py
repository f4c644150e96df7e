"""Requests over HTTP on 127.0.0.1: answers, limits, token, hosts, hostile bodies."""

from __future__ import annotations

import base64
import io
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests
import torch
from PIL import Image

from bison_ocl import Learner
from bison_ocl.serve import bodies
from bison_ocl.serve.app import Server
from bison_ocl.serve.bodies import Limits
from bison_ocl.serve.service import Service, journal_of
from tests.serve.serving import NPY, in_thread, labelled, npy, png, saved

TOKEN = "a token of some length"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    saved(tmp_path / "herd.safetensors")
    return tmp_path / "herd.safetensors"


@pytest.fixture
def server(path: Path) -> Server:
    return Server(Service(path), limits=Limits(body=60_000, batch=40))


@pytest.fixture
def address(server: Server) -> Iterator[str]:
    with in_thread(server) as found:
        yield found


def refused(answer: requests.Response, status: int, *parts: str) -> None:
    """One line that says what is wrong, as JSON."""
    assert answer.status_code == status, answer.text
    message = answer.json()["error"]
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_pictures_and_arrays_are_learned_and_predicted(address: str, path: Path) -> None:
    reference = Learner.load(path)
    x, y = labelled(16, seed=1)
    sent = requests.post(f"{address}/observe", json={"images": list(map(png, x)), "labels": y})
    assert sent.json() == {"predicted": reference.test_then_train(x, y)}
    again = requests.post(
        f"{address}/observe", npy(x), params={"labels": json.dumps(y)}, headers=NPY
    )
    assert again.json() == {"predicted": reference.test_then_train(x, y)}
    shown, _ = labelled(20, seed=2)
    for body in (
        {"json": {"images": list(map(png, shown))}},
        {"data": npy(shown), "headers": NPY},
        {"data": npy(shown.permute(0, 2, 3, 1)), "headers": NPY},
        {"data": npy(np.asfortranarray(shown.numpy())), "headers": NPY},
        {"data": npy(shown.float() / 255), "headers": NPY},
    ):
        found = requests.post(f"{address}/predict", **body).json()
        assert found["labels"] == reference.predict(shown)
        best = reference.predict_proba(shown).max(1)
        assert found["probabilities"] == pytest.approx(best.tolist())


def test_unsure_predictions_can_be_rejected(address: str) -> None:
    x, _ = labelled(5, seed=2)
    images = list(map(png, x))
    sure = requests.post(f"{address}/predict", json={"images": images, "reject_below": 1})
    assert sure.json()["labels"] == [None] * 5
    same = requests.post(f"{address}/predict?reject_below=1", npy(x), headers=NPY)
    assert same.json() == sure.json()
    for bound in ("much", 2, -1, 10**400):
        wrong = requests.post(f"{address}/predict", json={"images": images, "reject_below": bound})
        refused(wrong, 422, "reject_below=", "expected a probability from 0 to 1, such as 0.6")


@pytest.mark.filterwarnings("ignore:.*steps were refused")
def test_lost_weights_are_answered_in_one_line(tmp_path: Path) -> None:
    saved(tmp_path / "lost", n=40, method="er", lr=1e30)
    with in_thread(Server(Service(tmp_path / "lost"))) as address:
        images = [png(labelled(1)[0][0])]
        answer = requests.post(f"{address}/predict", json={"images": images})
        refused(answer, 422, "scores are not finite", "lower lr")
        answer = requests.post(f"{address}/observe", json={"images": images, "labels": ["bison"]})
        assert answer.json() == {"predicted": [None]}


def test_misspelt_fields_are_refused(address: str, server: Server) -> None:
    x, y = labelled(2, seed=1)
    body = {"images": list(map(png, x)), "labels": y, "idz": ["a", "b"]}
    wrong = requests.post(f"{address}/observe", json=body)
    refused(wrong, 422, "unknown field 'idz': did you mean 'ids'?")
    query = {"labels": json.dumps(y), "idz": '["a", "b"]'}
    wrong = requests.post(f"{address}/observe", npy(x), params=query, headers=NPY)
    refused(wrong, 422, "unknown field 'idz'")
    wrong = requests.post(f"{address}/predict", json={"images": body["images"], "reject": 0.5})
    refused(wrong, 422, "unknown field 'reject'")
    refused(requests.post(f"{address}/forget", json={"id": ["a"]}), 422, "unknown field 'id'")
    assert server.service.tested == 0


def test_long_names_of_fields_are_cut(address: str) -> None:
    for wrong in (
        requests.post(f"{address}/forget", json={"x" * 50_000: 1}),
        requests.post(f"{address}/forget?{'x' * 5000}=1", json={}),
        requests.post(f"{address}/predict?{'x' * 5000}=1", npy(labelled(1)[0]), headers=NPY),
    ):
        refused(wrong, 422, f"field '{'x' * 40}'")
        assert len(wrong.text) < 200


def test_query_fields_beside_json_are_refused(address: str, server: Server) -> None:
    x, y = labelled(2, seed=1)
    ids, advice = '?ids=["a","b"]', "query field 'ids': put it into the JSON body"
    body = {"images": list(map(png, x)), "labels": y}
    refused(requests.post(f"{address}/observe{ids}", json=body), 422, advice)
    refused(requests.post(f"{address}/forget{ids}", json={"labels": y}), 422, advice)
    bound = "?reject_below=0.5"
    wrong = requests.post(f"{address}/predict{bound}", json={"images": body["images"]})
    refused(wrong, 422, "query field 'reject_below'")
    assert server.service.tested == 0


def test_requests_without_a_route_are_answered_like_other_errors(address: str) -> None:
    refused(requests.get(f"{address}/nothing"), 404, "Not Found: expected POST /observe, ")
    wrong = requests.get(f"{address}/observe")
    refused(wrong, 405, "Method Not Allowed: expected POST /observe")
    assert wrong.headers["allow"] == "POST"


def test_pictures_of_another_size_are_resized(address: str) -> None:
    file = io.BytesIO()
    Image.new("L", (90, 50), 128).save(file, "JPEG")
    text = base64.b64encode(file.getvalue()).decode()
    answer = requests.post(f"{address}/predict", json={"images": [text]})
    assert len(answer.json()["labels"]) == 1


def test_images_that_are_not_square_must_fit(tmp_path: Path) -> None:
    learner = Learner("er", memory=20, filters=2)
    x = torch.randint(0, 256, (12, 3, 8, 12), generator=torch.Generator().manual_seed(0)).byte()
    learner.observe(x, labelled(12)[1])
    learner.save(tmp_path / "herd")
    with in_thread(Server(Service(tmp_path / "herd"))) as address:
        found = requests.post(f"{address}/predict", json={"images": [png(x[0])]})
        assert found.json()["labels"] == learner.predict(x[:1])
        wrong = requests.post(f"{address}/predict", json={"images": [png(x[0, :, :, :8])]})
        refused(wrong, 422, "image 0 is 8x8, the learner's images are 8x12: resize it")


def test_labels_keep_their_type(address: str, server: Server) -> None:
    x, _ = labelled(4, seed=3)
    labels = [7, 2.5, {"tuple": ["a", 1]}, "bison"]
    body = {"images": list(map(png, x)), "labels": labels}
    assert requests.post(f"{address}/observe", json=body).ok
    waiting = [one.label for one in server.service.learner._training.waiting]
    assert waiting[-4:] == [7, 2.5, ("a", 1), "bison"]


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ({"json": {"images": ["/"], "labels": ["a"]}}, "image 0 is not base64"),
        ({"json": {"images": ["data:,AAAA"], "labels": ["a"]}}, "no data: prefix, no line breaks"),
        ({"json": {"images": ["AAAA"], "labels": ["a"]}}, "cannot be decoded (not an image)"),
        ({"json": {"images": "AAAA", "labels": ["a"]}}, "expected JSON with images"),
        ({"json": {"images": [1], "labels": ["a"]}}, "expected JSON with images"),
        ({"json": ["AAAA"]}, "expected a JSON object with images, labels, ids"),
        ({"data": b"[" * 50_000, "headers": {"content-type": "application/json"}}, "is not JSON"),
        ({"data": b"\xff", "headers": {"content-type": "application/json"}}, "is not JSON"),
        ({"json": {"images": [png(torch.zeros(3, 8, 8).byte())]}}, "labels are missing"),
        ({"data": npy(np.zeros((1, 8, 8, 3), np.uint8)), "headers": NPY}, "labels are missing"),
        ({"json": {"images": [], "labels": [["a"]]}}, "labels hold a value that cannot be one"),
        ({"json": {"images": [], "labels": [{"a": 1}]}}, "labels hold a value that cannot be one"),
        ({"json": {"images": [], "labels": [], "ids": 1}}, "ids must be a JSON list, not 1"),
        ({"data": b"\x93NUMPY\x01\x00", "headers": NPY}, "is not a .npy file"),
        ({"data": b"\x93NUMPY\x03\x00", "headers": NPY}, "is not a .npy file"),
        ({"data": b"text", "headers": NPY}, "is not a .npy file"),
        ({"data": npy(np.zeros((1, 8, 8, 3), np.uint8))[:-1], "headers": NPY}, "191 bytes follow"),
        ({"data": npy(np.array(["a"])), "headers": NPY}, "expected bytes or floats"),
        ({"data": npy(np.zeros((1, 8, 8, 2), np.uint8)), "headers": NPY}, "labels are missing"),
    ],
)
def test_unreadable_bodies_are_refused(address: str, body: dict[str, Any], part: str) -> None:
    refused(requests.post(f"{address}/observe", **body), 422, part)


@pytest.mark.parametrize(
    "value", [r'"\ud800"', "1e999", "-Infinity", "NaN", r'{"tuple": ["\ud800"]}']
)
@pytest.mark.parametrize("place", ["labels", "ids"])
def test_values_that_no_answer_can_hold_are_refused(address: str, value: str, place: str) -> None:
    values = {"labels": '["otter"]', "ids": '["a"]', place: f"[{value}]"}
    sent = requests.post(f"{address}/observe", npy(labelled(1)[0]), params=values, headers=NPY)
    refused(sent, 422, f"{place} hold a value that cannot be one: expected Unicode text, finite")
    headers = {"content-type": "application/json"}
    body = f'{{"{place}": [{value}]}}'
    refused(requests.post(f"{address}/forget", body, headers=headers), 422, "finite numbers")


@pytest.mark.parametrize("depth", [50, 200, 320, 330, 480, 2000])
def test_deep_labels_are_refused(address: str, depth: int) -> None:
    """Whichever of reading and decoding gives up first."""
    label = '{"tuple": [' * depth + "1" + "]}" * depth
    body = f'{{"images": [], "labels": [{label}]}}'
    headers = {"content-type": "application/json"}
    refused(requests.post(f"{address}/observe", body, headers=headers), 422)


def forged(shape: str) -> bytes:
    """A .npy header of some shape, with a few bytes after it."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64)


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(-1, -64)", "(8, 8, 3, 1)", "(9.5,)"])
def test_a_header_asks_for_no_more_than_the_body_holds(address: str, shape: str) -> None:
    refused(requests.post(f"{address}/predict", forged(shape), headers=NPY), 422, ".npy")


def test_limits_of_a_request(address: str, server: Server) -> None:
    x, y = labelled(41, seed=1)
    over = requests.post(f"{address}/predict", json={"images": list(map(png, x))})
    refused(over, 413, "41 images: expected at most 40")
    refused(requests.post(f"{address}/predict", npy(x), headers=NPY), 413, "41 images")
    refused(requests.post(f"{address}/predict", bytes(60_001), headers=NPY), 413, "60,000 bytes")

    def chunks() -> Iterator[bytes]:
        for _ in range(100):
            yield bytes(1000)

    refused(requests.post(f"{address}/predict", chunks(), headers=NPY), 413, "60,000 bytes")
    assert server.refused[413] == 4
    assert len(y) == 41


def test_pixels_of_a_request_are_bounded(address: str) -> None:
    file = io.BytesIO()
    Image.new("1", (7000, 7000)).save(file, "PNG")
    text = base64.b64encode(file.getvalue()).decode()
    body = {"images": [text, text]}
    refused(requests.post(f"{address}/predict", json=body), 413, "64,000,000 pixels")


def test_a_body_that_never_ends_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "PATIENCE", 0.2)
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        head = f"POST /predict HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n"
        connection.sendall(f"{head}Content-Type: application/x-npy\r\n\r\nabc".encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 408")


def test_web_pages_of_others_reach_nothing(address: str) -> None:
    """A form or script elsewhere may send text without asking, and may rename a host."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        sent = requests.post(f"{address}/observe", b"{}", headers={"content-type": kind})
        refused(sent, 415, "expected application/json or application/x-npy")
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example"):
        refused(
            requests.get(f"{address}/status", headers={"host": host}), 403, "expected localhost"
        )
    page = requests.get(address)
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "access-control-allow-origin" not in page.headers


def test_a_token_guards_all_that_is_known(path: Path) -> None:
    with in_thread(Server(Service(path), TOKEN)) as address:
        for where in ("/metrics", "/memory", "/status"):
            without = requests.get(f"{address}{where}")
            refused(without, 401, "Authorization: Bearer TOKEN")
            assert without.headers["www-authenticate"] == "Bearer"
            for given in (f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN, "Bearer é".encode()):
                wrong = requests.get(f"{address}{where}", headers={"authorization": given})
                refused(wrong, 401)
            right = {"authorization": f"bearer {TOKEN}", "host": "herd.example"}
            assert requests.get(f"{address}{where}", headers=right).ok
        for where in ("/observe", "/predict"):
            refused(requests.post(f"{address}{where}", json={}), 401)
        assert requests.get(f"{address}/health").json() == {"status": "ok"}
        assert requests.get(address).ok


def test_metrics_are_read_by_prometheus(address: str, server: Server) -> None:
    x, _ = labelled(20, seed=1)
    labels = ['say "a"\n\\', *["bison"] * 19]
    assert requests.post(
        f"{address}/observe", npy(x), params={"labels": json.dumps(labels)}, headers=NPY
    ).ok
    requests.post(f"{address}/observe", b"", headers=NPY)
    answer = requests.get(f"{address}/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    samples = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    metrics = server.service.learner.metrics
    assert float(samples["bison_ocl_steps_total"]) == metrics.steps == 3
    assert float(samples["bison_ocl_accuracy"]) == metrics.accuracy
    assert float(samples["bison_ocl_tested_total"]) == 20
    assert float(samples['bison_ocl_class_accuracy{label="bison"}']) == metrics.by_label["bison"]
    assert r'bison_ocl_class_accuracy{label="say \"a\"\n\\"}' in samples
    assert samples['bison_ocl_refused_total{status="422"}'] == "1"
    named = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {name.partition("{")[0] for name in samples} <= named


def test_labels_of_equal_text_are_told_apart(tmp_path: Path) -> None:
    learner = Learner("er", memory=20, filters=2)
    learner.test_then_train(labelled(20)[0], [1, "1"] * 10)
    learner.save(tmp_path / "herd")
    with in_thread(Server(Service(tmp_path / "herd"))) as address:
        lines = requests.get(f"{address}/metrics").text.splitlines()
        shown = requests.get(f"{address}/status").json()["classes"]
    assert [one["label"] for one in shown] == ["1", "'1'"]
    for metric in ("memory_images", "class_accuracy"):
        assert sum(line.startswith(f'bison_ocl_{metric}{{label="1"}} ') for line in lines) == 1
        assert sum(line.startswith(f"bison_ocl_{metric}{{label=\"'1'\"}} ") for line in lines) == 1


def test_memory_is_shown_and_cleared(address: str, server: Server) -> None:
    x, y = labelled(20, seed=1)
    body = {"images": list(map(png, x)), "labels": y, "ids": [f"camera {i % 4}" for i in range(20)]}
    assert requests.post(f"{address}/observe", json=body).ok
    shown = requests.get(f"{address}/memory").json()
    assert shown == server.service.learner.memory.as_json()
    assert (shown["images"], shown["capacity"]) == (20, 20)
    places = [row["place"] for row in shown["rows"] if row["id"] == "camera 2"]
    gone = requests.post(f"{address}/forget", json={"ids": ["camera 2"]}).json()
    assert gone["forgotten"] == len(places) > places.count("memory") > 0
    left = requests.get(f"{address}/memory").json()
    assert left["images"] == 20 - places.count("memory")
    assert "camera 2" not in [row["id"] for row in left["rows"]]
    assert requests.post(f"{address}/forget", json={"labels": ["otter"]}).ok
    assert "otter" not in server.service.learner.learned_labels
    assert "otter" not in str(requests.get(f"{address}/memory").json())
    for wrong, part in (
        ({}, "give one of them"),
        ({"ids": ["a"], "labels": ["b"]}, "give one of them"),
        ({"ids": "camera 2"}, "ids must be a JSON list, not 'camera 2'"),
        (["camera 2"], "expected a JSON object"),
    ):
        refused(requests.post(f"{address}/forget", json=wrong), 422, part)
    refused(requests.post(f"{address}/forget", b"{}", headers=NPY), 415, "application/json")


def test_predictions_are_answered_while_others_learn(
    address: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = labelled(10, seed=1)
    body = {"images": list(map(png, x))}
    assert requests.post(f"{address}/predict", json=body).ok
    begun, done = threading.Event(), threading.Event()

    def slow(*_: Any) -> list[None]:
        begun.set()
        assert done.wait(60)
        return [None]

    monkeypatch.setattr(server.service.learner, "test_then_train", slow)
    crowd = [
        threading.Thread(
            target=requests.post,
            args=(f"{address}/observe",),
            kwargs={"json": body | {"labels": y}},
        )
        for _ in range(12)
    ]
    for thread in crowd:
        thread.start()
    assert begun.wait(60)
    assert requests.post(f"{address}/predict", json=body, timeout=30).ok
    assert requests.get(f"{address}/metrics", timeout=30).ok
    done.set()
    for thread in crowd:
        thread.join()


def test_an_image_that_cannot_be_kept_is_not_acknowledged(
    address: str, server: Server, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = labelled(3, seed=1)
    tested = server.service.tested

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        sent = requests.post(f"{address}/observe", json={"images": list(map(png, x)), "labels": y})
        refused(sent, 507, "No space left on device")
        refused(
            requests.post(f"{address}/forget", json={"ids": ["a"]}), 507, "No space left on device"
        )
    assert server.service.tested == tested
    assert journal_of(path).stat().st_size == 0
