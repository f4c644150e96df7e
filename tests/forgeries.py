"""Files of learners and runs with contents that no version wrote, for tests of what reads them.

`forged` changes a value of the header or a tensor and signs the file anew; `spoiled` flips bytes or
cuts the file off, so that the checksum no longer fits. Both are functions of a seed.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from bison_ocl.files import checkpoint

Place = tuple[str | int, ...]
WRONG: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 7, 10**9, 2**40, 2**62, 2**63, -(2**63), 10**400, 0.5),
    *(float("nan"), float("inf"), 1e308, "", "x", "1", "é\ud800", [], [1], [[]], {}, {"a": 1}),
    *({"tuple": [1]}, {"tuple": 3}, [None] * 3, [10**9] * 3, [[0] * 6] * 6),
)


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Every value of a header by its place, the whole header first."""
    yield at
    if isinstance(value, dict | list):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*at, name))


def replaced(value: Any, at: Place, by: Callable[[Any], Any]) -> Any:
    """The header with another value in one place."""
    if not at:
        return by(value)
    first, *rest = at
    changed = value.copy()
    changed[first] = replaced(value[first], tuple(rest), by)
    return changed


def without(value: Any, at: Place) -> Any:
    """The header without one of its values."""
    *outer, last = at

    def leave_out(inner: Any) -> Any:
        inner = inner.copy()
        del inner[last]
        return inner

    return replaced(value, tuple(outer), leave_out)


def forged_header(header: dict[str, Any], chance: random.Random) -> tuple[str, Any]:
    """A header with a wrong, a missing or an additional value, and what was done to it."""
    shallow = [at for at in places(header) if len(at) <= 2]
    at = chance.choice(shallow if chance.random() < 0.7 else list(places(header)))
    kind = chance.choice(["wrong", "wrong", "wrong", "missing", "extra", "nudged"])
    if kind == "missing" and at:
        return f"header{at} is missing", without(header, at)
    if kind == "extra":
        return "header has more", {**header, "more": chance.choice(WRONG)}
    if kind == "nudged":
        by = chance.choice([1, -1, 1000])
        nudged = replaced(header, at, lambda old: old + by if type(old) in (int, float) else old)
        return f"header{at} is {by} off", nudged
    wrong = chance.choice(WRONG)
    return f"header{at} = {wrong!r:.40}", replaced(header, at, lambda _: wrong)


def forged_tensor(value: Tensor, chance: random.Random) -> tuple[str, Tensor | None]:
    """A tensor of another dtype or shape or with numbers out of range; None: it is missing."""
    kind = chance.choice(["dtype", "shape", "nan", "inf", "range", "range", "missing", "one more"])
    if kind == "missing":
        return kind, None
    if kind == "dtype":
        others = [torch.float64, torch.float16, torch.int32, torch.int64, torch.bool, torch.uint8]
        return kind, value.to(chance.choice([*others, torch.bfloat16, torch.complex64]))
    if kind == "shape":
        forms = [value.reshape(-1), value[None], value.new_zeros(0), value.new_zeros(())]
        return kind, chance.choice([*forms, value.new_zeros(3, 0, 10**9)])
    if kind == "one more":
        return kind, torch.cat([value, value[:1]]) if value.ndim else value + 1
    changed = value.clone().reshape(-1)
    if len(changed):
        at = chance.randrange(len(changed))
        low, high = (-(2**63), 2**63 - 1) if value.dtype == torch.int64 else (0, 255)
        numbers = {"nan": float("nan"), "inf": float("inf")}
        if value.is_floating_point():
            changed[at] = numbers.get(kind, 1e30)
        elif value.dtype != torch.bool:
            changed[at] = chance.choice([low, high, *([-1, -2, 10**9] if low else [])])
    return kind, changed.reshape(value.shape)


def forged(path: Path, seed: int) -> tuple[str, bytes]:
    """A file signed like a good one whose contents are not, and what is wrong with it."""
    chance = random.Random(seed)
    tensors, header = checkpoint.read(path)
    if chance.random() < 0.6:
        said, header = forged_header(header, chance)
    else:
        name = chance.choice(sorted(tensors) if chance.random() < 0.5 else few(tensors))
        kind, value = forged_tensor(tensors[name], chance)
        said = f"tensor {name}: {kind}"
        tensors = {**tensors, name: value} if value is not None else without(tensors, (name,))
        if chance.random() < 0.05:
            said, tensors = said + ", and one more", {**tensors, "more": torch.zeros(3)}
    return said, signed(tensors, header)


def few(tensors: dict[str, Tensor]) -> list[str]:
    """The tensors that are not weights: counters, tables, the memory."""
    return sorted(name for name in tensors if not name.startswith(("net.", "moments.")))


def signed(tensors: dict[str, Tensor], header: Any) -> bytes:
    """The bytes of a file with a checksum that fits."""
    text = json.dumps(header)
    tensors = {name: value.contiguous().clone() for name, value in tensors.items()}
    metadata = {"format": checkpoint.FORMAT, "header": text}
    return save(tensors, metadata | {"sha256": checkpoint.checksum(tensors, text)})


def spoiled(path: Path, seed: int) -> tuple[str, bytes]:
    """A file with flipped bytes, cut off, or with a table of contents that claims other sizes."""
    chance, data = random.Random(seed), bytearray(path.read_bytes())
    kind = chance.choice(["flipped", "cut off", "longer", "claims", "length"])
    if kind == "flipped":
        near = chance.choice([64, 4096, len(data)])
        for _ in range(chance.randrange(1, 9)):
            data[chance.randrange(min(near, len(data)))] ^= chance.randrange(1, 256)
    elif kind == "cut off":
        data = data[: chance.randrange(len(data))]
    elif kind == "longer":
        data += bytes(chance.randrange(1, 1000))
    elif kind == "length":
        data[:8] = struct.pack("<Q", chance.choice([0, 1, 2**40, 2**63, 2**64 - 1]))
    else:
        data = claiming(data, chance)
    return kind, bytes(data)


def claiming(data: bytearray, chance: random.Random) -> bytearray:
    """A file whose table of contents tells another size, dtype or place of a tensor."""
    size = struct.unpack("<Q", data[:8])[0]
    table = json.loads(data[8 : 8 + size])
    name = chance.choice([name for name in table if name != "__metadata__"])
    huge = chance.choice([10**9, 2**40, 2**62, 2**63, 2**64, -1])
    part = chance.choice(["shape", "data_offsets", "dtype"])
    others = {"shape": [huge, huge], "data_offsets": [0, huge], "dtype": "F8_E4M3"}
    table[name][part] = chance.choice([others[part], [], None, [0, huge]])
    text = json.dumps(table).encode()
    return bytearray(struct.pack("<Q", len(text)) + text + data[8 + size :])
