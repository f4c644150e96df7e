"""`serve`: a saved learner behind HTTP."""

from __future__ import annotations

import os
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from bison_ocl.cli.learner.loading import Factory, MethodFile, loader
from bison_ocl.cli.options import Device, check_positive, chosen_device, expanded
from bison_ocl.errors import UserError


def serve(
    file: Annotated[
        Path, typer.Argument(callback=expanded, help="File of a saved learner; it is updated.")
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but 127.0.0.1 needs $BISON_OCL_TOKEN.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for a free one.")] = 8000,
    save_every: Annotated[float, typer.Option(help="Save the learner every N seconds.")] = 60,
    most_bytes: Annotated[int, typer.Option(help="Refuse request bodies larger than N bytes.")] = 1
    << 24,
    most_images: Annotated[
        int, typer.Option(help="Refuse requests with more than N images.")
    ] = 256,
    device: Device = "auto",
    method: MethodFile = None,
    backbone: Factory = None,
) -> None:
    """Serve a saved learner over HTTP.

    Offers observe, predict, forget, metrics, memory and a live page.
    """
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise UserError(f"{' and '.join(missing)} missing: pip install 'bison-ocl[serve]'")
    check_positive(save_every=save_every, most_bytes=most_bytes, most_images=most_images)

    from bison_ocl.serve.app import Server
    from bison_ocl.serve.bodies import Limits
    from bison_ocl.serve.guard import TOKEN, check_exposure
    from bison_ocl.serve.run import listening, run
    from bison_ocl.serve.service import Service

    token = os.environ.get(TOKEN) or None
    check_exposure(host, token)
    load = loader(method, backbone, chosen_device(device))
    with listening(host, port) as listener:
        server = Server(Service(file, load), token, Limits(most_bytes, most_images))
        name = f"[{host}]" if ":" in host else host
        line = f"serving {file} at http://{name}:{listener.getsockname()[1]}/"
        run(server, listener, save_every, ready=partial(print, line, flush=True))
    print(f"saved {file}")
