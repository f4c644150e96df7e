"""Downloads an official archive over https; a broken connection is taken up where it broke."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bison_ocl.data.reading.budget import Budget
from bison_ocl.data.storage.official import Archive
from bison_ocl.errors import UserError, reason
from bison_ocl.files.lock import locked

if TYPE_CHECKING:
    from requests import Response, Session

Watch = Callable[[int, int], None]
"""Told the bytes that are here and the bytes of the whole, 0 where the server does not say."""
CHUNK = 1 << 18
SECONDS = 30
"""of silence, after which a connection counts as broken"""
ATTEMPTS = 5
"""at most, and none after one that brought nothing"""
MOST = 1 << 30
"""bytes of an archive: a server might send without end"""


def fetch(archive: Archive, folder: Path, watch: Watch) -> Path:
    """The official archive in a folder; what is there already is not downloaded again."""
    import pooch  # type: ignore[import-untyped]
    from requests import RequestException
    from requests.exceptions import InvalidSchema

    pooch.get_logger().setLevel("ERROR")
    part = folder / f".{archive.file}.part"
    known = {"known_hash": f"md5:{archive.md5}", "fname": archive.file, "path": folder}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / f".{archive.file}.lock"):
            pooch.retrieve(archive.url, **known, downloader=Resuming(part, watch))
    except InvalidSchema as error:
        raise UserError(
            f"{archive.url} does not come over https all the way ({error}): "
            f"download it elsewhere and put it into {folder}"
        ) from error
    except RequestException as error:
        raise UserError(unreachable(archive, folder, part, error)) from error
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {reason(error)}") from error
    except ValueError as error:
        part.unlink(missing_ok=True)
        raise UserError(
            f"{archive.url} did not send the official file (md5 {archive.md5}): "
            f"try again, or put {archive.file} into {folder}"
        ) from error
    return folder / archive.file


def unreachable(archive: Archive, folder: Path, part: Path, error: Exception) -> str:
    """What a person can do who has no connection, or a bad one."""
    response: Response | None = getattr(error, "response", None)
    if response is not None:
        return (
            f"{archive.url} answers {response.status_code}: "
            f"put {archive.file} from elsewhere into {folder}"
        )
    if part.exists() and part.stat().st_size:
        return f"the connection to {archive.url} broke: the same command takes it up again"
    return f"cannot reach {archive.url}: download it elsewhere and put it into {folder}"


def only_https() -> Session:
    """A session that can open no other address, nor be sent to one."""
    from requests import Session
    from requests.adapters import HTTPAdapter

    session = Session()
    session.adapters.clear()
    session.mount("https://", HTTPAdapter())
    return session


class Resuming:
    """A downloader for pooch that keeps what it got in a file of its own."""

    def __init__(self, part: Path, watch: Watch) -> None:
        self.part, self.watch = part, watch

    def __call__(self, url: str, output: str, _pooch: Any) -> None:
        """Download into `output`; a connection that broke on the way is tried again."""
        from requests import ConnectionError, Timeout
        from requests.exceptions import ChunkedEncodingError

        for left in reversed(range(ATTEMPTS)):
            before = self.size()
            try:
                self.go_on(url)
                break
            except (ChunkedEncodingError, ConnectionError, Timeout):
                if not left or self.size() <= before:
                    raise
        self.part.replace(output)

    def size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def go_on(self, url: str) -> None:
        """Ask for what is missing; a server that sends everything is taken from the start."""
        import requests

        here = self.size()
        # Compressed on the way, the bytes would not be the file's.
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={here}-"} if here else {})
        with (
            only_https() as session,
            session.get(url, headers=headers, stream=True, timeout=SECONDS) as answer,
        ):
            if answer.status_code == requests.codes.requested_range_not_satisfiable:
                self.part.unlink()  # longer than the file: not its beginning
                return self.go_on(url)
            answer.raise_for_status()
            here = here if answer.status_code == requests.codes.partial_content else 0
            self.write(answer, here)

    def write(self, answer: Response, here: int) -> None:
        """Append to what is here, or begin again."""
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            raise ValueError("compressed on the way")
        budget = Budget(MOST - here, ValueError(f"more than {MOST:,} bytes"))
        length = int(answer.headers.get("Content-Length", 0))
        whole = here + length if length else 0
        with open(self.part, "ab" if here else "wb") as file:
            for chunk in answer.iter_content(CHUNK):
                budget.spend(len(chunk))
                here += file.write(chunk)
                self.watch(here, whole)
