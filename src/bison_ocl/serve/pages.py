"""The files of the live page, and the headers of every answer.

The page holds no data: it asks for the token where one is set, and then for `/status`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Answer = Callable[[Request], Awaitable[Response]]
FILES = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


def pages() -> list[Route]:
    """The routes of the page."""
    return [Route(path, page(*file)) for path, file in FILES.items()]


def page(name: str, kind: str) -> Answer:
    text = files("bison_ocl.serve.page").joinpath(name).read_text("utf-8")

    async def answer(request: Request) -> Response:
        return Response(text, headers=HEADERS, media_type=kind)

    return answer
