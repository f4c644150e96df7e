"""Run a service: the ASGI server, saves every few seconds, and a save at the end."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from bison_ocl.errors import UserError, reason
from bison_ocl.serve.app import Server
from bison_ocl.serve.service import Service

CONNECTIONS = 64
"""at a time; more are answered with 503"""
LAST_REQUESTS = 30
"""seconds for running requests to end after a signal"""


class Stopping(uvicorn.Server):
    """Ends on SIGTERM and SIGINT with its work done and status 0, not by the signal."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield


def listening(host: str, port: int) -> socket.socket:
    """A socket at an address; port 0 finds a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise UserError(
            f"cannot listen on {host} port {port}: {reason(error)}; choose another --port"
        ) from error


def run(
    server: Server, listener: socket.socket, save_every: float, ready: Callable[[], None]
) -> None:
    """Serve until a signal, then save; call `ready` when requests and signals are answered."""
    config = uvicorn.Config(
        server.app(),
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=LAST_REQUESTS,
    )
    try:
        asyncio.run(served(Stopping(config, ready), listener, server.service, save_every))
    finally:
        server.service.close()


async def served(
    stopping: Stopping, listener: socket.socket, service: Service, save_every: float
) -> None:
    saving = asyncio.create_task(saved_regularly(service, save_every))
    try:
        await stopping.serve([listener])
    finally:
        saving.cancel()


async def saved_regularly(service: Service, seconds: float) -> None:
    """Save every few seconds if something was learned; a failure is reported and tried again."""
    while True:
        await asyncio.sleep(seconds)
        if not service.journal.size:
            continue
        try:
            await asyncio.to_thread(service.save)
        except Exception as error:  # whatever it is, serving and the journal go on
            print(f"bison-ocl: {error}; images are in the journal", file=sys.stderr, flush=True)
