"""Files of every kind, damaged or forged: right values or one line, never code, time or memory."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import pickle
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from PIL import Image

from bison_ocl import Learner
from bison_ocl import data as datasets
from bison_ocl.data.reading import unpickle
from bison_ocl.data.reading.decode import decode
from bison_ocl.data.sources import tinyimagenet
from bison_ocl.data.sources.source import SPLITS, Source
from bison_ocl.data.storage.cache import file_sum, open_cached
from bison_ocl.errors import UserError
from bison_ocl.files import checkpoint
from bison_ocl.report.formats.markdown import markdown
from bison_ocl.report.study.study import load as load_study
from bison_ocl.report.tables.layouts import tables_of
from tests.contract.test_resume import fresh
from tests.data.image_files import everything, zipped
from tests.data.little_memory import little_memory
from tests.data.mutations import mutations
from tests.data.official_files import cifar10_files, made, put
from tests.data.test_cache import Made, caches
from tests.data.test_tinyimagenet import TINY
from tests.data.test_tinyimagenet import made as tiny_folder
from tests.faults.outcome import Outcome
from tests.forgeries import forged, forged_header, spoiled
from tests.report.records import records as plausible
from tests.report.test_folder import put as put_records
from tests.tiny import images

SECONDS = 5.0
"""of the processor that reading a small file may take"""
HANGING = 60.0
"""seconds of the wall's clock, after which a reader waits for something that never comes"""
CODE = ("exec", "os.exec", "os.fork", "os.posix_spawn", "os.system", "subprocess.Popen")
"""what Python's audit hooks call it when code is run"""


@dataclass(frozen=True)
class Target:
    """A good file, the damaged copies of it, and how one of them is put in place and read."""

    whole: bytes
    damaged: Callable[[int, int], Iterable[bytes]]
    """of a seed and a count"""
    place: Callable[[bytes], object]
    read: Callable[[], str]
    """a digest of the values"""
    sealed: bool = False
    """whether the format has a checksum, so that other values are a fault"""


def digest(*values: Any) -> str:
    """Of arrays, tensors and whatever can be pickled."""
    plain = [np.asarray(v).tobytes() if isinstance(v, np.ndarray) else v for v in values]
    return hashlib.sha256(pickle.dumps(plain)).hexdigest()


def tensors_of(me: Any) -> str:
    found, _ = checkpoint.pack(me)
    return digest(*(found[name].numpy() for name in sorted(found)))


# --- the targets, each with a file of its own in a folder ---


def learner_file(folder: Path, damage: Callable[[Path, int], tuple[str, bytes]]) -> Target:
    good, path = folder / "good.safetensors", folder / "learner.safetensors"
    learner = Learner("er", memory=20, seed=5, filters=2)
    for label in range(3):
        learner.observe(images(torch.full((10,), label), seed=label), [f"kind {label}"] * 10)
    learner.save(good)

    def read() -> str:
        found = Learner.load(path)
        found.predict(images(torch.arange(4)))
        return tensors_of(found._training.me)

    return Target(
        good.read_bytes(), all_of(damage, good), path.write_bytes, read, sealed=damage is spoiled
    )


def run_checkpoint(folder: Path, damage: Callable[[Path, int], tuple[str, bytes]]) -> Target:
    good, path = folder / "good.safetensors", folder / "run.safetensors"
    fresh("er").save(good)

    def read() -> str:
        run, threads = fresh("er"), torch.get_num_threads()
        try:
            run.resume(path)
        finally:
            torch.set_num_threads(threads)
        return tensors_of(run.me)

    return Target(
        good.read_bytes(), all_of(damage, good), path.write_bytes, read, sealed=damage is spoiled
    )


def all_of(
    damage: Callable[[Path, int], tuple[str, bytes]], good: Path
) -> Callable[[int, int], Iterator[bytes]]:
    """Damage by a number as damage by a seed and a count."""

    def damaged(seed: int, count: int) -> Iterator[bytes]:
        draw = random.Random(seed)
        return (damage(good, draw.randrange(2**40))[1] for _ in range(count))

    return damaged


def record(folder: Path) -> Target:
    path = put_records(folder / "mine", *plausible("generic", 2))
    whole = path.read_bytes()

    def damaged(seed: int, count: int) -> Iterator[bytes]:
        """Bytes changed, or a field of a record: few changes of bytes leave JSON behind."""
        draw = random.Random(seed)
        for changed in mutations(whole, seed, count):
            yield changed if draw.random() < 0.5 else edited(whole, draw)

    def read() -> str:
        study = load_study(path)
        made = chain.from_iterable(tables_of(item, found) for item, found in study.items.items())
        return digest(*(markdown(table) for table in made))

    return Target(whole, damaged, path.write_bytes, read)


def edited(whole: bytes, draw: random.Random) -> bytes:
    """A file of records with one field of one record wrong, missing or added."""
    lines = whole.splitlines()
    at = draw.randrange(len(lines))
    lines[at] = json.dumps(forged_header(json.loads(lines[at]), draw)[1]).encode()
    return b"".join(line + b"\n" for line in lines)


def cache(folder: Path) -> Target:
    source = Made(each=2)
    open_cached(source, folder)
    (place,) = caches(folder)
    whole = {path: path.read_bytes() for path in sorted(place.iterdir())}

    def damaged(seed: int, count: int) -> Iterator[bytes]:
        """One file after the other; its name goes before its bytes."""
        draw = random.Random(seed)
        for _ in range(count):
            path = draw.choice(list(whole))
            (changed,) = mutations(whole[path], draw.randrange(2**40), 1)
            yield path.name.encode() + b"\n" + changed

    def put(content: bytes) -> None:
        name, _, changed = content.partition(b"\n")
        for path, data in whole.items():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(changed if path.name.encode() == name else data)
        file_sum.cache_clear()

    def read() -> str:
        found = open_cached(source, folder)
        return digest(*(part.numpy() for b in (found.train, found.test) for part in (b.x, b.y)))

    return Target(b"\n", damaged, put, read, sealed=True)


def pickled(folder: Path) -> Target:
    path = folder / "batch"
    data = {"data": np.arange(60, dtype=np.uint8).reshape(5, 12), "labels": [1, 2, 3, 4, 5]}
    whole = pickle.dumps(data, protocol=2)
    return Target(
        whole,
        partial(mutations, whole),
        path.write_bytes,
        lambda: digest(unpickle.load(io.BytesIO(path.read_bytes()), path.name)),
    )


def tar(folder: Path, inside: bool) -> Target:
    """inside: the tar is damaged before it is compressed, so that gzip's checksum fits."""
    path = put(folder, *cifar10_files(made(classes=10, train=3, test=2), "python 3"), "archive")
    whole = path.read_bytes()

    def damaged(seed: int, count: int) -> Iterator[bytes]:
        if not inside:
            return mutations(whole, seed, count)
        return (gzip.compress(one, 1) for one in mutations(gzip.decompress(whole), seed, count))

    read = partial(images_of, lambda: datasets.source_of("split-cifar10", folder))
    return Target(whole, damaged, path.write_bytes, read, sealed=not inside)


def zip_archive(folder: Path) -> Target:
    path = zipped(tiny_folder(folder / "made"), folder / "tiny-imagenet-200.zip", "t/")
    whole = path.read_bytes()
    read = partial(images_of, lambda: tinyimagenet.source(folder, TINY))
    return Target(whole, partial(mutations, whole), path.write_bytes, read, sealed=True)


def images_of(open_source: Callable[[], Source]) -> str:
    source = open_source()
    return digest(*(part for split in SPLITS for part in everything(source, split)))


def image(folder: Path) -> Target:
    path, noise = folder / "image", np.random.default_rng(0).integers(0, 256, (24, 24, 3))
    file = io.BytesIO()
    Image.fromarray(noise.astype(np.uint8)).save(file, "JPEG")
    whole = file.getvalue()
    return Target(
        whole,
        partial(mutations, whole),
        path.write_bytes,
        lambda: digest(decode(path.read_bytes(), 8, path.name)),
    )


# --- the attack ---


class TooSlow(BaseException):
    """Raised by the clock; no reader may take it for an error of its own."""


def mutated(make: Callable[[Path], Target], count: int, seed: int) -> Outcome:
    """Read so many damaged copies of a file, with a gigabyte at most."""
    outcome = Outcome()
    with TemporaryDirectory() as folder, listening() as heard:
        target = make(Path(folder))
        target.place(target.whole)
        right, before = target.read(), peak()
        own = set(heard)  # PyTorch makes functions of its own as it runs
        with little_memory():
            for number, content in enumerate(target.damaged(seed, count)):
                target.place(content)
                heard.clear()
                begun = time.process_time()
                verdict, why = judged(target, right)
                outcome.seconds = max(outcome.seconds, time.process_time() - begun)
                if foreign := set(heard) - own:
                    verdict, why = "ran code", f"{foreign} {why}"
                outcome.add(verdict, f"number {number} of seed {seed}: {why}")
                outcome.made += 1
        outcome.megabytes = peak() - before
    return outcome


def judged(target: Target, right: str) -> tuple[str, str]:
    """How reading a damaged file ends, and in which words."""
    try:
        with time_limit():
            found = target.read()
    except UserError as error:
        lines = "one line" if "\n" not in str(error) else "several lines"
        return f"refused in {lines}", str(error)
    except MemoryError as error:
        return "too large", repr(error)
    except TooSlow as error:
        return "too slow", f"more than {error} s"
    except Exception as error:
        return "crashed", repr(error)
    if found == right:
        return "right values", ""
    return ("wrong values" if target.sealed else "other values"), ""


CLOCKS = (
    (signal.SIGPROF, signal.ITIMER_PROF, SECONDS),
    (signal.SIGALRM, signal.ITIMER_REAL, HANGING),
)


@contextmanager
def time_limit() -> Iterator[None]:
    """By the processor's clock, which other programs do not move, and by the wall's."""

    def ring(sent: int, *_: object) -> None:
        raise TooSlow(next(seconds for one, _, seconds in CLOCKS if one == sent))

    before = [signal.signal(one, ring) for one, _, _ in CLOCKS]
    for _, clock, seconds in CLOCKS:
        signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        for _, clock, _ in CLOCKS:
            signal.setitimer(clock, 0)
        for (one, _, _), handler in zip(CLOCKS, before, strict=True):
            signal.signal(one, handler)


@contextmanager
def listening() -> Iterator[list[str]]:
    """The events of run code since the list was cleared; a hook of Python cannot be removed."""
    heard: list[str] = []
    active = True

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        own = event == "exec" and (is_module(arguments[0]) or is_importing())
        if active and event in CODE and not own:
            heard.append(event)

    sys.addaudithook(hook)
    try:
        yield heard
    finally:
        active = False


def is_module(code: Any) -> bool:
    """Whether code is that of an installed file, imported when it is needed for the first time."""
    return not code.co_filename.startswith("<")


def is_importing() -> bool:
    """Whether an installed module is being imported, which may make functions of text as it does.

    (Pillow imports the reader of a format when a file looks like it.)
    """
    frame = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


def peak() -> float:
    """The most memory that this process ever took, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


TARGETS: dict[str, Callable[[Path], Target]] = {
    "learner file, damaged": partial(learner_file, damage=spoiled),
    "learner file, forged and signed": partial(learner_file, damage=forged),
    "run checkpoint, damaged": partial(run_checkpoint, damage=spoiled),
    "run checkpoint, forged and signed": partial(run_checkpoint, damage=forged),
    "record": record,
    "cache": cache,
    "pickle": pickled,
    "tar.gz archive": partial(tar, inside=False),
    "tar in a good tar.gz": partial(tar, inside=True),
    "zip archive": zip_archive,
    "image": image,
}
