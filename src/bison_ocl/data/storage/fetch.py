"""Download an official archive over https; pooch keeps it if its checksum holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bison_ocl.data.reading.budget import Budget
from bison_ocl.data.storage.official import Archive
from bison_ocl.errors import UserError, reason
from bison_ocl.files.lock import locked

if TYPE_CHECKING:
    from requests import Session

Watch = Callable[[int, int], None]
"""Receives the bytes so far and the total, which is 0 if the server does not give it."""
CHUNK = 1 << 18
SECONDS = 30
"""of silence, after which a connection counts as broken"""
MOST = 1 << 30
"""bytes of an archive: a server might send without end"""


def fetch(archive: Archive, folder: Path, watch: Watch) -> Path:
    """The official archive in a folder, downloaded unless it is there."""
    import pooch  # type: ignore[import-untyped]
    from requests import RequestException
    from requests.exceptions import InvalidSchema

    pooch.get_logger().setLevel("ERROR")
    known = {"known_hash": f"md5:{archive.md5}", "fname": archive.file, "path": folder}
    elsewhere = f"download it elsewhere and put it into {folder}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / f".{archive.file}.lock"):
            pooch.retrieve(archive.url, **known, downloader=downloader(watch))
    except InvalidSchema as error:
        raise UserError(f"{archive.url} is not https throughout ({error}): {elsewhere}") from error
    except RequestException as error:
        answer = error.response
        found = "cannot be reached" if answer is None else f"answers {answer.status_code}"
        raise UserError(f"{archive.url} {found}: try again, or {elsewhere}") from error
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {reason(error)}") from error
    except ValueError as error:
        raise UserError(
            f"{archive.url} did not send the official file (md5 {archive.md5}): "
            f"try again, or {elsewhere}"
        ) from error
    return folder / archive.file


def downloader(watch: Watch) -> Callable[[str, str, Any], None]:
    """The download function for pooch, whose own would follow redirects to http."""

    def download(url: str, output: str, _pooch: Any) -> None:
        budget, here = Budget(MOST, ValueError(f"more than {MOST:,} bytes")), 0
        # A compressed transfer would not match the size that the server gives.
        plain = {"Accept-Encoding": "identity"}
        with (
            only_https() as session,
            session.get(url, headers=plain, stream=True, timeout=SECONDS) as answer,
            open(output, "wb") as file,
        ):
            answer.raise_for_status()
            whole = int(answer.headers.get("Content-Length", 0))
            for chunk in answer.iter_content(CHUNK):
                budget.spend(len(chunk))
                here += file.write(chunk)
                watch(here, whole)

    return download


def only_https() -> Session:
    """A session that opens https addresses only, also after redirects."""
    from requests import Session
    from requests.adapters import HTTPAdapter

    session = Session()
    session.adapters.clear()
    session.mount("https://", HTTPAdapter())
    return session
