"""Save and load states: safetensors for tensors, JSON for the rest, so loading runs no code.

Files are written atomically (temporary file, fsync, rename) and verified on reading. safetensors is
imported where a file is opened, because learning and benchmarks need torch and numpy alone.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.errors import UserError, reason
from bison_ocl.files.durable import write_atomically
from bison_ocl.state import State

FORMAT = "bison-ocl 1"
ADDED_LATER = ("refused", "memory.uncounted", "memory.fields.arrived")
"""tensors that earlier versions did not write; a fresh state provides them"""


class DamagedFile(UserError):
    """A file whose contents are damaged."""


NUMBER = 2**62
"""larger than any number in a valid file"""


@dataclass(frozen=True)
class Header:
    """The plain values of a file by name; a value of the wrong kind refuses the file."""

    value: Any
    name: str = "header"

    def __getitem__(self, name: str) -> Header:
        return self.get(name, MISSING)

    def get(self, name: str, default: Any) -> Header:
        """A value by name; `default` in files from before there was one."""
        return Header(self.by_name().get(name, default), name)

    def by_name(self) -> dict[str, Any]:
        self.check(isinstance(self.value, dict))
        return dict(self.value)

    def items(self) -> list[Header]:
        self.check(isinstance(self.value, list))
        return [Header(value, self.name) for value in self.value]

    def text(self) -> str:
        self.check(isinstance(self.value, str))
        return str(self.value)

    def switch(self) -> bool:
        self.check(isinstance(self.value, bool))
        return bool(self.value)

    def whole(self, least: int = 0, most: int = NUMBER) -> int:
        self.check(type(self.value) is int and least <= self.value <= most)
        return int(self.value)

    def number(self) -> float:
        """The value as a finite number, not negative."""
        self.check(type(self.value) in (int, float) and 0 <= self.value < NUMBER)
        return float(self.value)

    def check(self, fits: bool) -> None:
        """Refuse the file if a value is impossible."""
        if not fits:
            shown = "nothing" if self.value is MISSING else repr(self.value)[:60]
            raise DamagedFile(f"the file has {shown} for {self.name!r}: use another copy")


MISSING = object()


def write(path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    """Write tensors and a JSON header to one file; a crash leaves the old file or the new one."""
    from safetensors.torch import save

    # Copies, because safetensors refuses shared memory, as of a fresh teacher.
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    text = json.dumps(header)
    metadata = {"format": FORMAT, "header": text, "sha256": checksum(tensors, text)}
    write_atomically(path, save(tensors, metadata))


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the header of a file, after verifying its format and checksum."""
    from safetensors import SafetensorError, safe_open

    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise UserError(f"cannot read {path}: not a regular file; choose another file")
        path.open("rb").close()  # safe_open reports a forbidden file as missing
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            names = file.keys()
            tensors = {name: file.get_tensor(name) for name in names}
    except FileNotFoundError as error:
        raise UserError(f"no file {path}: check the path") from error
    except (PermissionError, IsADirectoryError) as error:
        raise UserError(f"cannot read {path}: {reason(error)}; choose another file") from error
    except (OSError, SafetensorError, OverflowError, RuntimeError) as error:
        raise DamagedFile(
            f"{path} is truncated or not a bison-ocl file: use another copy"
        ) from error
    if metadata.get("format") != FORMAT:
        raise UserError(f"{path} was not written by this version of bison-ocl ({FORMAT})")
    text = metadata.get("header", "")
    if metadata.get("sha256") != checksum(tensors, text):
        raise DamagedFile(f"{path} was changed after it was written: use another copy")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"{path} holds a header that is not JSON: use another copy") from error
    return tensors, Header(header).by_name()


def checksum(tensors: dict[str, Tensor], header: str) -> str:
    """The SHA-256 of tensors and header."""
    total = hashlib.sha256(header.encode())
    for name in sorted(tensors):
        value = tensors[name]
        total.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        total.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def pack(me: State) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """A state as named tensors and plain values, with only the used rows of the memory."""
    fixed = {"filled": me.memory.filled, "later": me.later, "closed": me.closed}
    return tree.named(replace(me, memory=me.memory.in_use())), fixed


def unpack(blank: State, tensors: dict[str, Tensor], fixed: dict[str, Any]) -> State:
    """Fill a fresh state of the same design with packed tensors, in its own memory format."""
    check_fit(blank, tensors)
    plain = Header(fixed)

    def fill(path: str, leaf: Tensor) -> Tensor:
        value = tensors.get(path, leaf)
        if of_rows(path, leaf):
            leaf[: len(value)] = value.to(leaf.device)
            return leaf
        return torch.empty_like(leaf).copy_(value)

    me = tree.walk(fill, blank)
    memory = replace(me.memory, filled=plain["filled"].whole(most=me.memory.capacity))
    later, closed = plain["later"].switch(), plain["closed"].switch()
    me = replace(me, memory=memory, later=later, closed=closed)
    check_values(me, tensors)
    return me


def check_fit(form: State, tensors: dict[str, Tensor]) -> None:
    """Refuse tensors of another method or network; `form` may be on the meta device."""
    for path, leaf in tree.named(form).items():
        value = tensors.get(path)
        if value is None:
            fits = path in ADDED_LATER
        else:
            rows = of_rows(path, leaf)
            fits = value.shape[rows:] == leaf.shape[rows:] and value.dtype == leaf.dtype
            fits = fits and value.ndim == leaf.ndim and not (rows and len(value) >= len(leaf))
        if not fits:
            raise UserError(
                f"the file does not fit this method and network (at {path}): use another"
            )


def of_rows(path: str, leaf: Tensor) -> bool:
    """Whether a tensor has one row per image of the memory; files keep only used rows."""
    return path.startswith("memory.") and leaf.ndim > 0


def check_values(me: State, tensors: dict[str, Tensor]) -> None:
    """Refuse values that no training step can produce."""
    memory = me.memory
    y, filled = memory.y[: memory.filled], memory.filled
    lengths = {len(value) for path, value in tensors.items() if of_rows(path, value)}
    counters = (me.seed, me.step, me.task, me.refused, memory.seen)
    wrong = {
        "memory": lengths != {filled} or bool(memory.seen.clamp(max=memory.capacity) > filled),
        "memory.uncounted": bool(memory.offered < memory.seen),
        "memory.y": bool(((y < 0) | (y >= me.classes)).any()),
        "table": bool(((me.table < -1) | (me.table > me.task)).any()),
        "counters": any(not 0 <= int(count) < NUMBER for count in counters),
        "refused": bool(me.refused > me.step),
    }
    for path, value in tensors.items():
        if value.is_floating_point():
            wrong[path] = not bool(value.isfinite().all())
    for what, found in wrong.items():
        if found:
            raise DamagedFile(f"the file holds impossible values ({what}): use another copy")
