"""A small learner in a file, and servers for it: in a thread, or in a process to be killed."""

from __future__ import annotations

import base64
import io
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import requests
import uvicorn
from PIL import Image
from torch import Tensor

from bison_ocl import Learner
from bison_ocl.serve.app import Server
from tests.learners import herd

NAMES = ["bison", "crane", "otter", "whale"]
NPY = {"content-type": "application/x-npy"}
PATIENCE = 120
"""seconds for a process to start or end on a busy machine"""


def saved(path: Path, n: int = 13, **options: Any) -> Learner:
    """A learner of n images, written to a file."""
    learner = Learner(**({"method": "bison", "memory": 20, "filters": 2} | options))
    learner.observe(*labelled(n))
    learner.save(path)
    return learner


def labelled(n: int, seed: int = 0) -> tuple[Tensor, list[str]]:
    x, y = herd(n, seed=seed)
    return x, [NAMES[i] for i in y]


def png(image: Tensor) -> str:
    """An image [3, H, W] as a request holds it."""
    file = io.BytesIO()
    Image.fromarray(image.permute(1, 2, 0).numpy()).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def npy(x: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(x))
    return file.getvalue()


@contextmanager
def in_thread(server: Server) -> Iterator[str]:
    """The address of a server in this process."""
    listener = socket.create_server(("127.0.0.1", 0))
    runner = uvicorn.Server(uvicorn.Config(server.app(), log_level="warning", access_log=False))
    thread = threading.Thread(target=runner.run, args=([listener],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        runner.should_exit = True
        thread.join()
        server.service.close()


COMMAND = [sys.executable, "-c", "from bison_ocl.cli import main; main()"]


class Process:
    """`bison-ocl serve` in a process of its own."""

    def __init__(self, path: Path, *options: str, token: str | None = None) -> None:
        words = [*COMMAND, "serve", str(path), "--port", "0", "--device", "cpu", *options]
        environment = os.environ | ({"BISON_OCL_TOKEN": token} if token else {})
        pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(words, env=environment, **pipes)
        line = self.process.stdout.readline()
        assert line.startswith(f"serving {path} at "), self.process.communicate()
        self.address = line.split()[-1].rstrip("/")

    @staticmethod
    def refused(path: Path) -> str:
        """What the command says where it cannot serve."""
        words = [*COMMAND, "serve", str(path), "--port", "0"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
        assert (done.returncode, done.stdout) == (2, "")
        return done.stderr

    def post(self, path: str, **body: Any) -> Any:
        answer = requests.post(f"{self.address}{path}", json=body, timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def observe(self, x: Tensor, labels: list[str]) -> Any:
        return self.post("/observe", images=[png(image) for image in x], labels=labels)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)

    def stop(self) -> tuple[int, str, str]:
        """Exit status, output and errors after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


def eventually(condition: Any, seconds: float = PATIENCE) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
