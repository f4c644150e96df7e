"""Lines of a journal: checksum and JSON, so that a torn line is recognised."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bison_ocl.files.checkpoint import Header
from bison_ocl.learner.labels.names import decode, encode


@dataclass(frozen=True)
class Entry:
    """The images [N, 3, H, W], labels and ids of one call."""

    at: int
    """images that the learner had tested before"""
    x: Tensor
    labels: list[Hashable]
    ids: list[Hashable] | None = None


def written(entry: Entry) -> bytes:
    """An entry as a line: checksum and JSON."""
    values = {
        "at": entry.at,
        "labels": [encode(label) for label in entry.labels],
        "ids": None if entry.ids is None else [encode(one) for one in entry.ids],
        "shape": list(entry.x.shape),
        "images": base64.b64encode(entry.x.numpy().tobytes()).decode(),
    }
    text = json.dumps(values).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def read(line: bytes) -> Entry | None:
    """The entry of a line; None for a torn one."""
    checksum, _, text = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text):
        return None
    values = Header(json.loads(text))
    labels = [decode(one.value) for one in values["labels"].items()]
    named = values["ids"].value is not None
    ids = [decode(one.value) for one in values["ids"].items()] if named else None
    shape = [one.whole() for one in values["shape"].items()]
    data: Any = bytearray(base64.b64decode(values["images"].text()))
    x = torch.frombuffer(data, dtype=torch.uint8).reshape(shape)
    return Entry(values["at"].whole(), x, labels, ids)
