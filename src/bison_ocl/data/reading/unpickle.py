"""Read pickled dicts, lists, texts, numbers and numeric arrays; refuse any other pickle.

A pickle is a program that can call anything it can name. Here it can name eight functions, all
ours: not even numpy's own functions run on the file's values, because a forged dtype could make
them read out of bounds. opcodes.py limits the cost before anything runs.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bison_ocl.data.reading.opcodes import Refused, check
from bison_ocl.errors import UserError

NUMBERS = {"b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"}


def load(file: IO[bytes], path: str | Path) -> Any:
    """The content of a pickle written by Python 2 or 3; old texts come as bytes."""
    try:
        check(file)
        return plain(Restricted(file, encoding="bytes").load())
    except Refused as error:
        raise UserError(f"refused to read {path}: {error}; use the official file") from error
    except OSError:
        raise
    except Exception as error:
        # A broken pickle can end in almost any exception.
        raise UserError(f"{path} is truncated or not a pickle: use another copy") from error


def text(value: str | bytes) -> str:
    """A name or key, written by Python 2 or 3."""
    return value.decode("latin1") if isinstance(value, bytes) else value


def named(value: Any) -> dict[str, Any] | None:
    """A dict with text keys; None for anything else."""
    if not isinstance(value, dict) or not all(isinstance(key, str | bytes) for key in value):
        return None
    return {text(key): item for key, item in value.items()}


def integers(value: Any) -> NDArray[np.int64]:
    """The integers of a list or array, flattened; ValueError for anything else."""
    flat = isinstance(value, list) and all(type(each) is int for each in value)
    if not flat and not (isinstance(value, np.ndarray) and value.dtype.kind in "iu"):
        raise ValueError("not integers")
    try:
        return np.asarray(value).astype(np.int64).ravel()
    except OverflowError as error:
        raise ValueError("integers of more than 64 bits") from error


class Restricted(pickle.Unpickler):
    """An unpickler that can name only the functions in ADMITTED."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ADMITTED:
            raise Refused(f"it would run {module}.{name}")
        return ADMITTED[module, name]

    def persistent_load(self, pid: Any) -> NoReturn:
        raise Refused("it points outside of itself")


class Admitted:
    """A function that a pickle may call but not alter."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call

    def __call__(self, *values: Any) -> Any:
        return self.call(*values)

    def __setstate__(self, state: Any) -> None:
        raise Refused("it would change a function")


class Kind:
    """Replaces a numpy dtype: a number type and its byte order."""

    def __init__(self, code: str | bytes) -> None:
        self.code, self.order = text(code), "="
        if self.code not in NUMBERS:
            raise Refused(f"it holds an array of {self.code!r}")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = text(state[1])
        if self.order not in ("<", ">", "=", "|"):
            raise Refused("it holds an array of an unknown kind")

    def array(self, raw: Any, shape: tuple[int, ...], order: str) -> NDArray[Any]:
        kind = np.dtype(self.order + self.code)
        return np.frombuffer(raw, kind).reshape(shape, order="F" if order == "F" else "C")


class Array:
    """Replaces a numpy array while it is built."""

    value: NDArray[Any]

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _version, shape, kind, fortran, raw = state
        self.value = kind.array(raw, shape, "F" if fortran else "C")


def plain(value: Any) -> Any:
    """Containers with finished arrays instead of `Array` objects."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(plain(item) for item in value)
    if isinstance(value, Admitted | Kind):
        raise Refused("it holds something that is not data")
    return value.value if isinstance(value, Array) else value


def dtype(code: str | bytes, *_copy: bool) -> Kind:
    return Kind(code)


def blank(*_type_shape_code: Any) -> Array:
    return Array()


def array(raw: Any, kind: Kind, shape: tuple[int, ...], order: str) -> NDArray[Any]:
    return kind.array(raw, shape, order)


def scalar(kind: Kind, raw: bytes | str) -> Any:
    return kind.array(encode(raw), (1,), "C")[0].item()


def encode(value: str | bytes, *_encoding: str) -> bytes:
    """Bytes as Python 3 writes them for Python 2 to read."""
    return value.encode("latin1") if isinstance(value, str) else value


def nothing() -> bytes:
    return b""


def refuse(*_values: Any) -> NoReturn:
    raise Refused("it would make an array by itself")


ADMITTED = {
    ("_codecs", "encode"): Admitted(encode),
    ("builtins", "bytes"): Admitted(nothing),
    ("__builtin__", "bytes"): Admitted(nothing),
    ("numpy", "dtype"): Admitted(dtype),
    ("numpy", "ndarray"): Admitted(refuse),
    **{
        (f"numpy.{core}.{module}", name): Admitted(call)
        for core in ("core", "_core")
        for module, name, call in (
            ("multiarray", "_reconstruct", blank),
            ("multiarray", "scalar", scalar),
            ("numeric", "_frombuffer", array),
        )
    },
}
