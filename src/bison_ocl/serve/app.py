"""HTTP of a service: observe, predict, forget, metrics, memory, health and a live page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bison_ocl.errors import UserError
from bison_ocl.learner.arguments import least_probability
from bison_ocl.learner.labels.names import encode
from bison_ocl.serve.bodies import Limits, image_request, json_request, names
from bison_ocl.serve.guard import check_host, check_token
from bison_ocl.serve.journal import NotKept
from bison_ocl.serve.metrics import CONTENT_TYPE, exposition
from bison_ocl.serve.pages import HEADERS, Answer, pages
from bison_ocl.serve.refused import Refused
from bison_ocl.serve.service import Service
from bison_ocl.serve.status import status

T = TypeVar("T")
REQUESTS = "POST /observe, /predict or /forget, or GET /, /metrics, /memory, /status or /health"


@dataclass
class Server:
    """The answers of a service."""

    service: Service
    token: str | None = None
    limits: Limits = field(default_factory=Limits)
    refused: dict[int, int] = field(default_factory=dict)
    """refused requests by status"""
    learning: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    """one thread, so that requests that wait to learn leave the others to predictions"""
    answering: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(4))

    def app(self) -> Starlette:
        routes = [
            Route("/observe", self.guarded(self.observe), methods=["POST"]),
            Route("/predict", self.guarded(self.predict), methods=["POST"]),
            Route("/forget", self.guarded(self.forget), methods=["POST"]),
            Route("/metrics", self.guarded(self.metrics)),
            Route("/memory", self.guarded(self.memory)),
            Route("/status", self.guarded(self.status)),
            Route("/health", self.health),
        ]
        return Starlette(
            routes=[*routes, *pages()], exception_handlers={404: self.lost, 405: self.lost}
        )

    def guarded(self, answer: Answer) -> Answer:
        """Check who asks; answer errors in one line."""

        async def call(request: Request) -> Response:
            try:
                check_host(request, self.token)
                check_token(request, self.token)
                return await answer(request)
            except Refused as error:
                scheme = {"www-authenticate": "Bearer"} if error.status == 401 else None
                return self.refusal(error.status, str(error), scheme)
            except NotKept as error:
                return self.refusal(507, str(error))
            except UserError as error:
                return self.refusal(422, str(error))

        return call

    async def lost(self, request: Request, error: Exception) -> Response:
        """Answers requests that have no route as all other errors."""
        assert isinstance(error, HTTPException)
        message = f"{error.detail}: expected {REQUESTS}"
        return self.refusal(error.status_code, message, error.headers)

    def refusal(
        self, status: int, message: str, headers: Mapping[str, str] | None = None
    ) -> Response:
        self.refused = self.refused | {status: self.refused.get(status, 0) + 1}
        return JSONResponse({"error": message}, status, HEADERS | dict(headers or {}))

    async def observe(self, request: Request) -> Response:
        """Answers with what was predicted before learning, once the images cannot be lost."""
        fields = ["labels", "ids"]
        got = await image_request(request, self.limits, self.service.shape, fields)
        predicted = await done(
            self.learning, self.service.observe, got.images, got.labels(), got.ids()
        )
        return JSONResponse({"predicted": [encode(label) for label in predicted]}, headers=HEADERS)

    async def predict(self, request: Request) -> Response:
        got = await image_request(request, self.limits, self.service.shape, ["reject_below"])
        least = least_probability(got.values.get("reject_below"))
        found = await done(self.answering, self.service.predict, got.images, least)
        labels, probabilities = [encode(label) for label, _ in found], [p for _, p in found]
        return JSONResponse({"labels": labels, "probabilities": probabilities}, headers=HEADERS)

    async def forget(self, request: Request) -> Response:
        """Answers once neither the file nor the journal holds the images."""
        values = await json_request(request, self.limits, ["ids", "labels"])
        ids, labels = names(values, "ids"), names(values, "labels")
        gone = await done(self.learning, self.service.forget, ids, labels)
        return JSONResponse({"forgotten": gone}, headers=HEADERS)

    async def metrics(self, request: Request) -> Response:
        text = await done(self.answering, exposition, self.service, self.refused)
        return PlainTextResponse(text, headers=HEADERS, media_type=CONTENT_TYPE)

    async def memory(self, request: Request) -> Response:
        """The thread that learns looks at the memory, so that it holds still."""
        view = await done(self.learning, lambda: self.service.learner.memory)
        return JSONResponse(view.as_json(), headers=HEADERS)

    async def status(self, request: Request) -> Response:
        return JSONResponse(await done(self.answering, status, self.service), headers=HEADERS)

    async def health(self, request: Request) -> Response:
        """For whoever restarts the server; it tells nothing of the learner."""
        return JSONResponse({"status": "ok"}, headers=HEADERS)


async def done(threads: ThreadPoolExecutor, f: Callable[..., T], *arguments: Any) -> T:
    """The result of a function that a thread calls."""
    return await asyncio.get_running_loop().run_in_executor(threads, f, *arguments)
