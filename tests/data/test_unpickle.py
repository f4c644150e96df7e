"""Pickles of data are read, whoever wrote them; every other pickle is refused and runs nothing."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bison_ocl.data.reading import opcodes, unpickle
from bison_ocl.errors import UserError
from tests.data.little_memory import little_memory
from tests.data.mutations import mutations, read_or_refused

PIXELS = np.arange(24, dtype=np.uint8).reshape(4, 6)


def read(data: bytes) -> Any:
    return unpickle.load(io.BytesIO(data), "some.pickle")


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("core", [b"numpy.core", b"numpy._core"])
def test_arrays_and_lists_come_back_from_every_protocol(protocol: int, core: bytes) -> None:
    content = {
        b"data": PIXELS,
        "labels": [3, np.int64(7), 2.5, None, True],
        "nested": {"class": [1, (2, b"", "ü")]},
        "fortran": np.asfortranarray(PIXELS),
        "wide": np.array([1, -70000], dtype=">i4"),
        "empty": np.zeros((0, 3), dtype=np.uint8),
    }
    data = pickle.dumps(content, protocol=protocol)
    if protocol < 4:
        data = data.replace(b"numpy._core", core)
    got = read(data)
    assert np.array_equal(got[b"data"], PIXELS)
    assert got[b"data"].dtype == np.uint8
    assert np.array_equal(got["fortran"], PIXELS)
    assert got["wide"].tolist() == [1, -70000]
    assert got["empty"].shape == (0, 3)
    assert got["labels"] == [3, 7, 2.5, None, True]
    assert got["nested"] == {"class": [1, (2, b"", "ü")]}


def test_a_python_2_pickle_is_read() -> None:
    """As cPickle of Python 2.7 writes {'labels': [6], 'data': array([[1, 255]], dtype=uint8)}."""
    data = (
        b"\x80\x02}q\x01(U\x06labelsq\x02]q\x03K\x06aU\x04dataq\x04cnumpy.core.multiarray\n"
        b"_reconstruct\nq\x05cnumpy\nndarray\nq\x06K\x00\x85U\x01b\x87Rq\x07(K\x01K\x01K\x02\x86"
        b"cnumpy\ndtype\nq\x08U\x02u1K\x00K\x01\x87Rq\x09(K\x03U\x01|NNNJ\xff\xff\xff\xff"
        b"J\xff\xff\xff\xffK\x00tb\x89U\x02\x01\xfftbu."
    )
    got = read(data)
    assert got[b"labels"] == [6]
    assert got[b"data"].tolist() == [[1, 255]]


class Calls:
    """Pickles as a call of a function, as exploits do."""

    def __init__(self, function: Callable[..., Any], *values: Any) -> None:
        self.call = function, values

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.call


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    ("function", "values"),
    [
        (os.system, ("touch {trap}",)),
        (eval, ("open('{trap}', 'w')",)),
        (exec, ("open('{trap}', 'w')",)),
        (open, ("{trap}", "w")),
        (subprocess.getoutput, ("touch {trap}",)),
        (np.load, ("{trap}",)),
        (np.save, ("{trap}", [1])),
        (np.fromfile, ("{trap}",)),
        (np.memmap, ("{trap}", "uint8", "w+", 0, (1,))),
        (np.testing.assert_equal, (1, 1)),
        (np.frombuffer, (b"1", "u1")),
        (bytes, (10,)),
    ],
)
def test_a_malicious_pickle_is_refused_and_runs_nothing(
    protocol: int, function: Callable[..., Any], values: tuple[Any, ...], tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    aimed = [value.format(trap=trap) if isinstance(value, str) else value for value in values]
    data = pickle.dumps({"data": Calls(function, *aimed)}, protocol=protocol)
    with pytest.raises(UserError, match=r"^(refused to read some.pickle|some.pickle is)"):
        read(data)
    assert not trap.exists()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"cnumpy.testing._private.utils\nruntests\n.", "it would run", id="testing"),
        pytest.param(b"cnumpy.f2py.diagnose\nrun_command\n.", "it would run", id="f2py"),
        pytest.param(b"cbuiltins\neval\n.", "builtins.eval", id="named only"),
        pytest.param(b"Ppersistent\n.", "outside of itself", id="persistent"),
        pytest.param(b"cnumpy\nndarray\n(K\x01tR.", "by itself", id="ndarray call"),
        pytest.param(b"cnumpy\ndtype\n.", "not data", id="a function as data"),
        pytest.param(b"cnumpy\ndtype\n(S'O8'\ntR.", "array of 'O8'", id="objects"),
        pytest.param(b"cnumpy\ndtype\n(S'V8'\ntR.", "array of 'V8'", id="records"),
        pytest.param(
            b"cnumpy\ndtype\n(S'u1'\ntR(K\x03S'O,'\nNtb.", "unknown kind", id="byte order"
        ),
        pytest.param(
            b"c_codecs\nencode\n(N}S'call'\ncnumpy\ndtype\nstb.", "change a function", id="alter"
        ),
    ],
)
def test_gadgets_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(UserError, match=why):
        read(data)
    assert unpickle.ADMITTED["_codecs", "encode"]("a") == b"a"


def test_dotted_names_do_not_reach_further() -> None:
    """Protocol 4 lets a name walk through attributes."""
    for module, name in (("numpy", "dtype.__init__"), ("_codecs", "encode.__self__")):
        data = (
            b"\x80\x04"
            + b"".join(b"\x8c" + bytes([len(word)]) + word.encode() for word in (module, name))
            + b"\x93."
        )
        with pytest.raises(UserError, match="it would run"):
            read(data)


def test_forged_arrays_are_refused_not_crashed_on() -> None:
    whole = pickle.dumps({"data": PIXELS}, protocol=4)
    for cut in range(len(whole)):
        with pytest.raises(UserError):
            read(whole[:cut])
    too_large = whole.replace(b"K\x04K\x06\x86", b"K\x04K\x07\x86")
    assert too_large != whole
    with pytest.raises(UserError, match="truncated or not a pickle"):
        read(too_large)


@pytest.mark.parametrize("data", [b"", b"not a pickle", b"a.", b"h\x00.", b"e."])
def test_what_is_no_data_is_said_in_one_line(data: bytes) -> None:
    with pytest.raises(UserError, match=r"some.pickle is truncated or not a pickle") as caught:
        read(data)
    assert "\n" not in str(caught.value)


def laughs(empty: bytes, build: bytes) -> bytes:
    """Lists, tuples or dicts that are used twice in the next one: 2**40 in 400 bytes."""
    levels = b"".join(build % (2 * (b"h" + bytes([n]))) + b"q" + bytes([n + 1]) for n in range(40))
    return b"\x80\x02" + empty + b"q\x00" + levels + b"."


def long_texts() -> bytes:
    """A text of 1 MB that is copied 500 times."""
    text = b"X" + (1 << 20).to_bytes(4, "little") + bytes(1 << 20) + b"q\x00"
    copy = b"c_codecs\nencode\nh\x00\x85R"
    return b"\x80\x02(" + text + 500 * copy + b"l."


def colliding(keys: int) -> bytes:
    """A dict whose keys all have one hash."""
    longs = (b"\x8a\x0a" + (n * (2**61 - 1)).to_bytes(10, "little") + b"N" for n in range(keys))
    return b"\x80\x02}(" + b"".join(longs) + b"u."


HUGE = (1 << 32).to_bytes(8, "little")
BOMBS = {
    "memo": (b"Nr\x00\x00\x00\x10.", "268,435,456 places in its memo"),
    "memo as text": (b"Np268435456\n.", "268,435,456 places in its memo"),
    "bytearray": (b"\x80\x05\x96" + HUGE + b".", "truncated"),
    "bytes": (b"\x80\x04\x8e" + HUGE + b".", "truncated"),
    "text": (b"\x80\x04\x8d" + HUGE + b".", "truncated"),
    "frame": (b"\x80\x04\x95" + HUGE + b"N.", "truncated"),
    "negative": (b"\x80\x02T\xff\xff\xff\xff.", "truncated"),
    "lists": (laughs(b"]", b"](%be"), "in two places"),
    "tuples": (laughs(b")", b"%b\x86"), "in two places"),
    "dicts": (laughs(b"}", b"}(%bu"), "in two places"),
    "tuples as keys": (laughs(b")", b"%b\x86")[:-1] + b"}h\x28Ns.", "in two places"),
    "a list in itself": (b"]q\x00h\x00a.", "in two places"),
    "the last value twice": (b"]2\x86.", "opcode DUP"),
    "deep": (b"}N" + 90_000 * b"\x85" + b"Ns.", "16 lists, tuples or dicts deep"),
    "deep lists": (1000 * b"](" + 1000 * b"e" + b".", "16 lists, tuples or dicts deep"),
    "texts": (long_texts(), "repeats long texts"),
    "keys": (colliding(30_000), "over 20,000 keys"),
    "sets": (b"(" + 1000 * b"\x8f" + b"l.", "opcode EMPTY_SET"),
    "opcodes": (b"(" + 100_001 * b"]" + b"l.", "over 100,000 opcodes"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_pickle_cannot_take_much_time_or_memory(
    bomb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opcodes, "MOST_OPCODES", min(100_000, opcodes.MOST_OPCODES))
    data, why = BOMBS[bomb]
    (tmp_path / "some.pickle").write_bytes(data)
    with little_memory(), open(tmp_path / "some.pickle", "rb") as file:
        start = time.process_time()
        with pytest.raises(UserError, match=why) as caught:
            unpickle.load(file, "some.pickle")
    assert time.process_time() - start < 5
    assert "\n" not in str(caught.value)


def test_long_lists_and_the_usual_notes_are_no_bomb() -> None:
    names = [f"{number}.png" for number in range(50_000)]
    content = {"labels": list(range(50_000)), "names": names, "again": names[:10], "x": PIXELS}
    for protocol in (0, 2, 4, 5):
        got = read(pickle.dumps(content, protocol=protocol))
        assert got["labels"] == content["labels"]
        assert got["again"] == names[:10]


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_any_damage_ends_in_data_or_in_one_line(protocol: int) -> None:
    content = {"data": PIXELS, "labels": [3, np.int64(7), 2.5, None], "n": {"class": [1, (2, b"")]}}
    whole = pickle.dumps(content, protocol=protocol)
    with little_memory():
        for data in mutations(whole, seed=protocol, count=100):
            read_or_refused(partial(read, data))
