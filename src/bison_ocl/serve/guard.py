"""Access to the server: hosts that it answers to, and a token where one is set."""

from __future__ import annotations

import hmac
from ipaddress import ip_address

from starlette.requests import Request

from bison_ocl.errors import UserError
from bison_ocl.serve.refused import Refused

TOKEN = "BISON_OCL_TOKEN"
"""the environment variable, because a command line is visible to other users"""
LOCAL = ("localhost", "127.0.0.1", "[::1]")
SHORTEST = 16
"""characters of a token"""


def check_exposure(host: str, token: str | None) -> None:
    """Refuse to answer a network without a token, and one that can be guessed or never sent."""
    if token is not None and len(token) < SHORTEST:
        raise UserError(f"{TOKEN} has {len(token)} characters: expected at least {SHORTEST}")
    if token is not None and not fits_header(token):
        raise UserError(f"{TOKEN} does not fit into a header: use ASCII, no spaces at its ends")
    if token is None and not is_local(host):
        raise UserError(
            f"--host {host} lets others train and read the learner: set {TOKEN}, or use 127.0.0.1"
        )


def fits_header(token: str) -> bool:
    return token.isascii() and token.isprintable() and token == token.strip()


def is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_token(request: Request, token: str | None) -> None:
    """Refuse a request without the token; the comparison takes the same time for any text."""
    if token is None:
        return
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    same = hmac.compare_digest(given.encode(), token.encode())
    if scheme.lower() != "bearer" or not same:
        raise Refused(401, "send the header `Authorization: Bearer TOKEN`")


def check_host(request: Request, token: str | None) -> None:
    """Without a token, answer only to this machine's names: a web page could rename another."""
    host = request.headers.get("host", "")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if token is None and name.lower() not in LOCAL:
        raise Refused(403, f"host {host!r}: expected localhost, or a token")
