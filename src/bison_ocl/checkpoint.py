"""Files that hold a state: safetensors for the tensors, JSON for the rest, so loading runs no code.

Written atomically (temporary file, fsync, rename) and checked on reading.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from bison_ocl import tree
from bison_ocl.durable import write_atomically
from bison_ocl.errors import UserError, reason
from bison_ocl.state import State

FORMAT = "bison-ocl 1"


class DamagedFile(UserError):
    """A file that is not as it was written."""


def write(path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    """Put tensors and a JSON header into one file; a crash leaves the old file or the new one."""
    # Copies: safetensors refuses tensors that share memory, as a fresh teacher's do.
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    text = json.dumps(header)
    metadata = {"format": FORMAT, "header": text, "sha256": checksum(tensors, text)}
    write_atomically(path, save(tensors, metadata))


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the header of a file, after checking that it is whole and ours."""
    try:
        path.open("rb").close()  # of a file it may not read, safe_open says that it is not there
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            names = file.keys()
            tensors = {name: file.get_tensor(name) for name in names}
    except FileNotFoundError as error:
        raise UserError(f"there is no file {path}") from error
    except (PermissionError, IsADirectoryError) as error:
        raise UserError(f"cannot read {path}: {reason(error)}; choose another file") from error
    except (OSError, SafetensorError) as error:
        raise DamagedFile(f"{path} is cut off or not a bison-ocl file: use another copy") from error
    if metadata.get("format") != FORMAT:
        raise UserError(f"{path} was not written by this version of bison-ocl ({FORMAT})")
    if metadata.get("sha256") != checksum(tensors, metadata.get("header", "")):
        raise DamagedFile(f"{path} was changed after it was written: use another copy")
    header: dict[str, Any] = json.loads(metadata["header"])
    return tensors, header


def checksum(tensors: dict[str, Tensor], header: str) -> str:
    """A fingerprint of everything a file says."""
    total = hashlib.sha256(header.encode())
    for name in sorted(tensors):
        value = tensors[name]
        total.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        total.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def pack(me: State) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """A state as named tensors and plain values; of the memory only the rows in use."""
    fixed = {"filled": me.memory.filled, "later": me.later, "closed": me.closed}
    return tree.named(replace(me, memory=me.memory.in_use())), fixed


def unpack(blank: State, tensors: dict[str, Tensor], fixed: dict[str, Any]) -> State:
    """A packed state put into a fresh one of the same design, in the fresh one's memory format."""

    def fill(path: str, leaf: Tensor) -> Tensor:
        value = tensors.get(path)
        rows = path.startswith("memory.") and leaf.ndim > 0
        if value is None or value.shape[rows:] != leaf.shape[rows:] or value.dtype != leaf.dtype:
            raise UserError(f"the file does not fit this method and network (at {path})")
        if rows:
            leaf[: len(value)] = value.to(leaf.device)
            return leaf
        return torch.empty_like(leaf).copy_(value)

    me = tree.walk(fill, blank)
    memory = replace(me.memory, filled=int(fixed["filled"]))
    return replace(me, memory=memory, later=bool(fixed["later"]), closed=bool(fixed["closed"]))
