"""Downloads from a server of our own that breaks off or sends something else."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter
from typer.testing import CliRunner

from bison_ocl.cli.app import app
from bison_ocl.data.storage import fetch as module
from bison_ocl.data.storage import official
from bison_ocl.data.storage.fetch import fetch, only_https
from bison_ocl.data.storage.official import Archive
from bison_ocl.errors import UserError

CONTENT = bytes(range(256)) * 6000
MD5 = hashlib.md5(CONTENT).hexdigest()


class Plain(HTTPAdapter):
    """Speaks http where the address says https: these tests have no certificate."""

    def send(self, request: PreparedRequest, *values: Any, **options: Any) -> Response:
        address = request.url
        assert address
        request.url = address.replace("https://", "http://")
        answer = super().send(request, *values, **options)
        request.url = answer.url = address
        return answer


@pytest.fixture(autouse=True)
def without_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    def session() -> Session:
        made = only_https()
        made.mount("https://", Plain())
        return made

    monkeypatch.setattr(module, "only_https", session)


class Server:
    """Serves one file; says how often it was asked."""

    def __init__(self, content: bytes, breaks: list[int], status: int, elsewhere: str) -> None:
        self.content, self.breaks, self.status = content, breaks, status
        self.elsewhere = elsewhere
        self.asked = 0

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked += 1
        if self.status != 200:
            handler.send_error(self.status)
            return
        if self.elsewhere and handler.path != "/else":
            handler.send_response(302)
            handler.send_header("Location", self.elsewhere)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(self.content)))
        handler.end_headers()
        end = self.breaks.pop(0) if self.breaks else None
        handler.wfile.write(self.content[:end])


Serve = Callable[..., tuple[Server, Archive]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with running() as start:
        yield start


@contextmanager
def running() -> Iterator[Serve]:
    started: list[ThreadingHTTPServer] = []

    def start(
        content: bytes = CONTENT,
        breaks: tuple[int, ...] = (),
        status: int = 200,
        elsewhere: str = "",
    ) -> tuple[Server, Archive]:
        server = Server(content, list(breaks), status, elsewhere)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        started.append(http)
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        return server, Archive(f"https://127.0.0.1:{http.server_port}/some.tar.gz", MD5)

    yield start
    for http in started:
        http.shutdown()
        http.server_close()


def silent(_here: int, _whole: int) -> None:
    pass


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_a_file_is_downloaded_once_and_progress_is_told(serve: Serve, tmp_path: Path) -> None:
    server, archive = serve()
    told: list[tuple[int, int]] = []
    folder = tmp_path / "new" / "folder"
    path = fetch(archive, folder, lambda here, whole: told.append((here, whole)))
    assert path.read_bytes() == CONTENT
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [here for here, _ in told] == sorted(here for here, _ in told)
    assert fetch(archive, folder, silent) == path
    assert server.asked == 1
    assert names(folder) == ["some.tar.gz"]


def test_a_broken_connection_leaves_nothing_and_is_tried_again(
    serve: Serve, tmp_path: Path
) -> None:
    server, archive = serve(breaks=(600_000,))
    with pytest.raises(UserError, match=r"cannot be reached: try again, or download it elsewhere"):
        fetch(archive, tmp_path, silent)
    assert names(tmp_path) == []
    assert fetch(archive, tmp_path, silent).read_bytes() == CONTENT
    assert server.asked == 2


def test_another_file_is_not_kept(serve: Serve, tmp_path: Path) -> None:
    _, archive = serve(content=b"<html>not here</html>")
    with pytest.raises(UserError, match="did not send the official file") as caught:
        fetch(archive, tmp_path, silent)
    assert "\n" not in str(caught.value)
    assert names(tmp_path) == []


def test_a_damaged_archive_is_replaced_only_by_a_good_one(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "some.tar.gz").write_bytes(b"damaged")
    _, missing = serve(status=404)
    with pytest.raises(UserError, match="answers 404"):
        fetch(missing, tmp_path, silent)
    assert (tmp_path / "some.tar.gz").read_bytes() == b"damaged"
    _, archive = serve()
    assert fetch(archive, tmp_path, silent).read_bytes() == CONTENT


def test_without_a_network_one_line_says_what_to_put_where(tmp_path: Path) -> None:
    with running() as start:
        _, archive = start()
    with pytest.raises(
        UserError, match=r"^https://.*some.tar.gz cannot be reached: try again, or download it"
    ) as caught:
        fetch(archive, tmp_path, silent)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_that_cannot_be_made_is_named(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    _, archive = serve()
    with pytest.raises(UserError, match=r"cannot write to .*file"):
        fetch(archive, tmp_path / "file" / "folder", silent)


@pytest.mark.parametrize("scheme", ["http", "ftp", "file", "HTTP"])
def test_only_https_is_asked(scheme: str, serve: Serve, tmp_path: Path) -> None:
    server, archive = serve()
    plain = Archive(archive.url.replace("https", scheme), MD5)
    with pytest.raises(UserError, match=r"is not https throughout .*: download it") as caught:
        fetch(plain, tmp_path, silent)
    assert "\n" not in str(caught.value)
    assert (server.asked, names(tmp_path)) == (0, [])


@pytest.mark.parametrize(
    "there", ["http://127.0.0.1:9/a", "ftp://127.0.0.1/a", "file:///etc/passwd"]
)
def test_nobody_is_sent_from_https_to_less(there: str, serve: Serve, tmp_path: Path) -> None:
    _, archive = serve(elsewhere=there)
    with pytest.raises(UserError, match=r"is not https throughout .*: download it"):
        fetch(archive, tmp_path, silent)
    assert names(tmp_path) == []


def test_another_address_over_https_is_followed(serve: Serve, tmp_path: Path) -> None:
    _, archive = serve(elsewhere="/else")
    assert fetch(archive, tmp_path, silent).read_bytes() == CONTENT


def test_every_official_archive_comes_over_https() -> None:
    assert list(only_https().adapters) == ["https://"]
    for archive in official.ARCHIVES.values():
        assert archive.url.startswith("https://")


def test_a_server_that_sends_too_much_is_stopped(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", len(CONTENT) - 1)
    _, archive = serve()
    with pytest.raises(UserError, match="did not send the official file"):
        fetch(archive, tmp_path, silent)
    assert names(tmp_path) == []


def test_the_command_fetches_and_tells_the_next_step(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, archive = serve()
    monkeypatch.setitem(official.ARCHIVES, "split-cifar10", archive)
    asked = ["data", "fetch", "split-cifar10", "--data-dir", str(tmp_path)]
    result = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert result.exit_code == 0
    assert f"{tmp_path / 'some.tar.gz'} is complete" in result.output
    assert "1.5/1.5 MB" in result.output


def test_a_dataset_without_official_archive_says_what_to_put_where(tmp_path: Path) -> None:
    asked = ["data", "fetch", "split-miniimagenet", "--data-dir", str(tmp_path)]
    with pytest.raises(UserError, match=r"no Mini-ImageNet found: put .*") as caught:
        CliRunner().invoke(app, asked, catch_exceptions=False)
    assert str(tmp_path) in str(caught.value)
