"""Bodies of requests, read within limits of size and time.

JSON: `{"images": [base64 of a PNG or JPEG, ...], "labels": [...]}`. A .npy body holds images alone;
its labels are JSON in the query, `?labels=["bison", "crane"]`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from starlette.requests import ClientDisconnect, Request

from bison_ocl.data.reading.budget import Budget
from bison_ocl.errors import UserError, unknown
from bison_ocl.learner.labels.names import decode
from bison_ocl.serve.images import array, pictures
from bison_ocl.serve.refused import Refused

JSON, NPY = "application/json", "application/x-npy"
PATIENCE = 30.0
"""seconds for a body to arrive"""


@dataclass(frozen=True)
class Limits:
    """What one request may ask for."""

    body: int = 16 << 20
    """bytes"""
    batch: int = 256
    """images"""


@dataclass(frozen=True)
class ImageRequest:
    """Images as `Learner` takes them, and the other values of a request."""

    images: NDArray[Any]
    values: dict[str, Any]

    def labels(self) -> list[Hashable]:
        """One label per image."""
        found = names(self.values, "labels")
        if found is None:
            raise UserError("labels are missing: give a JSON list with one label per image")
        return found

    def ids(self) -> list[Hashable] | None:
        """One id per image, if there are any."""
        return names(self.values, "ids")


async def image_request(
    request: Request, limits: Limits, shape: tuple[int, ...], fields: Sequence[str]
) -> ImageRequest:
    """The images of a request for a learner of images [3, H, W]. fields: its other values"""
    if kind_of(request, JSON, NPY) == JSON:
        values = await json_request(request, limits, ["images", *fields])
        images = await asyncio.to_thread(pictures, values.get("images"), limits.batch, shape)
        return ImageRequest(images, values)
    body = await read(request, limits.body)
    check_fields(request.query_params, fields)
    values = {name: parsed(text.encode()) for name, text in request.query_params.items()}
    return ImageRequest(array(body, limits.batch), values)


async def json_request(request: Request, limits: Limits, fields: Sequence[str]) -> dict[str, Any]:
    """The values of a JSON body, by name. fields: those that it may have"""
    kind_of(request, JSON)
    check_no_query(request)
    values = parsed(await read(request, limits.body))
    if not isinstance(values, dict):
        raise UserError(f"expected a JSON object with {', '.join(fields)}")
    check_fields(values, fields)
    return values


def check_no_query(request: Request) -> None:
    """Refuse a query beside JSON: ids that it named would be dropped."""
    for name in request.query_params:
        raise UserError(f"query field {name[:40]!r}: put it into the JSON body")


def check_fields(names: Iterable[str], known: Sequence[str]) -> None:
    """Refuse misspelt names: images without their ids could not be forgotten by id.

    A name is cut, because comparing one as long as a body would block the server.
    """
    for name in names:
        if name not in known:
            raise UserError(unknown("field", name[:40], known))


def kind_of(request: Request, *known: str) -> str:
    """The content type of a request, refused if it is none of those known."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in known:
        raise Refused(415, f"content type {kind!r}: expected {' or '.join(known)}")
    return kind


def names(values: dict[str, Any], name: str) -> list[Hashable] | None:
    """A list of labels or ids; None if it is missing."""
    found = values.get(name)
    if not (found is None or isinstance(found, list)):
        raise UserError(f"{name} must be a JSON list, not {found!r:.60}")
    try:
        # Infinity and half a surrogate pair can be read as JSON, but no answer can hold them.
        json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
        return None if found is None else [decode(one) for one in found]
    except (UserError, ValueError, RecursionError) as error:
        expected = 'Unicode text, finite numbers, true, false, null or {"tuple": [...]}'
        raise UserError(f"{name} hold a value that cannot be one: expected {expected}") from error


async def read(request: Request, most: int) -> bytes:
    """The body, refused as soon as it is too large or too slow."""
    over = Refused(413, f"the body is larger than {most:,} bytes: send fewer images at once")
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > most:
        raise over
    budget, chunks = Budget(most, over), []
    try:
        async with asyncio.timeout(PATIENCE):
            async for chunk in request.stream():
                budget.spend(len(chunk))
                chunks.append(chunk)
    except TimeoutError as error:
        raise Refused(408, f"the body took more than {PATIENCE:g} seconds") from error
    except ClientDisconnect as error:
        raise Refused(400, "the connection ended before the body did") from error
    return b"".join(chunks)


def parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{text[:40]!r} is not JSON: {error}") from error
