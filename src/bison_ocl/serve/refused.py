"""Refusal of a request: a status and one line."""

from __future__ import annotations


class Refused(Exception):
    """A request that is answered with a status and one line."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
