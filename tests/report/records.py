"""Plausible records for every item of the paper, the same on every call, at levels like its own.

`records("table1")` gives what `reproduce table1` would write, without training anything. Confusion
matrices are drawn first; accuracies and metrics are computed from them, as in a real run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from bison_ocl.evaluate.confusion import accuracy_by_task, in_original_ids
from bison_ocl.evaluate.metrics import average_accuracy, forgetting
from bison_ocl.experiments.plan.paper import ITEMS, Cell, Settings
from bison_ocl.experiments.records.record import (
    Environment,
    Losses,
    Matrix,
    Metrics,
    Record,
    Scores,
    Timing,
)
from bison_ocl.experiments.train.result import SHOWN_CLASSES
from bison_ocl.methods.settings import configured, settings_of

CIFAR10, CIFAR100, MINI, DIGITS = (
    "split-cifar10",
    "split-cifar100",
    "split-miniimagenet",
    "split-digits",
)
CLASSES = {CIFAR10: (10, 5), CIFAR100: (100, 10), MINI: (100, 10), DIGITS: (10, 5)}
"""classes and tasks"""
TEST_IMAGES = {CIFAR10: 1000, CIFAR100: 100, MINI: 100, DIGITS: 34}
"""of one class"""
TRAIN_IMAGES = {CIFAR10: 50_000, CIFAR100: 50_000, MINI: 50_000, DIGITS: 1400}

LEARNED = {CIFAR10: 0.86, CIFAR100: 0.466, MINI: 0.40, DIGITS: 0.95}
"""what FINE-TUNE scores on a task it has just learned"""
BISON = {
    (CIFAR100, 1000): 0.263,
    (CIFAR100, 2000): 0.300,
    (CIFAR100, 5000): 0.328,
    (CIFAR10, 200): 0.525,
    (CIFAR10, 500): 0.580,
    (CIFAR10, 1000): 0.612,
    (MINI, 1000): 0.242,
    (MINI, 2000): 0.269,
    (MINI, 5000): 0.287,
    (DIGITS, 100): 0.87,
}
"""AA of BISON"""
LEVELS = {
    "finetune": (0.2, 1.0, 0.7),
    "er": (0.65, 1.08, 1.0),
    "gss": (0.56, 1.09, 6.0),
    "mir": (0.67, 1.01, 2.6),
    "agem": (0.22, 1.02, 1.6),
    "gdumb": (0.63, 0.76, 5.2),
    "scr": (0.66, 0.67, 1.2),
    "aser": (0.68, 1.13, 4.1),
    "ssil": (0.76, 0.70, 1.5),
    "er-dvc": (0.75, 1.02, 3.4),
    "er-ace": (0.89, 0.79, 1.0),
    "ocm": (0.65, 0.50, 7.5),
    "pcr": (0.95, 0.85, 1.1),
    "lode": (0.94, 0.86, 1.4),
    "onpro": (0.90, 0.80, 8.0),
    "bison": (1.0, 0.85, 1.15),
    "bison-ald": (1.06, 0.86, 1.17),
}
"""AA as a share of BISON's, accuracy just after a task as a share of FINE-TUNE's, time by ER's"""

PAIRS = {3: 5, 5: 3, 4: 7, 7: 4, 1: 9, 9: 1, 0: 8, 8: 0, 2: 6, 6: 2}
"""similar classes of CIFAR-10"""
CONFUSION_ORDER = [3, 4, 5, 1, 7, 0, 9, 2, 8, 6]


def records(item: str, seeds: int = 3) -> list[Record]:
    """The records of an item, FINE-TUNE references included; any other name: digits of a demo."""
    return [record(cell, seed) for cell in cells(item) for seed in range(seeds)]


def cells(item: str) -> list[Cell]:
    """What an item trains, and FINE-TUNE on its streams where it reports AI."""
    if item not in ITEMS:
        return [Cell("finetune", DIGITS, 0), Cell("er", DIGITS, 100), Cell("bison", DIGITS, 100)]
    asked = ITEMS[item].cells
    streams = dict.fromkeys((cell.data, cell.stream) for cell in asked)
    references = [Cell("finetune", data, 0, stream=stream) for data, stream in streams]
    return [*references * ITEMS[item].intransigence, *asked]


def factor(cell: Cell) -> float:
    """AA of a variant relative to the method's usual."""
    chosen = settings(cell.method, cell.data, cell.settings)
    if cell.stream == "natural":
        return 1.3
    if cell.method != "bison":
        return 1.0
    parts = 0.97 ** ((chosen["pal"] != "bs") + (chosen["paf"] != "sb")) * (
        1 - 0.2 * (not chosen["dc"])
    )
    usual = settings(cell.method, cell.data, ())
    away = np.log2(chosen["beta"] / usual["beta"]) ** 2
    away += 0.5 * np.log2(chosen["lambda"] / usual["lambda"]) ** 2
    larger = 0.1 * (1 - 10 / chosen["buffer_batch"])
    return float(parts - 0.015 * away + larger)


# --- one record ---


def record(cell: Cell, seed: int) -> Record:
    """A finished run."""
    random = generator(cell, seed)
    order = class_order(cell, seed)
    found = draw(cell, order, random)
    also = {rule: draw(cell, order, random, better=1.05) for rule in cell.also}
    return Record(
        method=cell.method,
        data=cell.data,
        memory=cell.memory,
        seed=seed,
        settings=settings(cell.method, cell.data, cell.settings),
        stream=cell.stream,
        class_order=order,
        **vars(found),
        also=also,
        parameters=parameters(cell),
        log=log(cell, random),
        losses=losses(cell, random),
        timing=timing(cell, random),
        environment=ENVIRONMENT,
        commit="0123456789abcdef0123456789abcdef01234567",
    )


def parameters(cell: Cell) -> int:
    """Of the reduced ResNet-18 with linear heads, 160 features each; BISON has two, and scales."""
    classes, _ = CLASSES[cell.data]
    heads = 2 if cell.method == "bison" else 1
    return 1_093_140 + heads * 160 * classes + (3 if heads == 2 else classes)


ENVIRONMENT = Environment(
    device="NVIDIA H200",
    device_type="cuda",
    threads=1,
    bison_ocl="0.1.0",
    python="3.11.7",
    torch="2.13.0+cpu",
    numpy="2.4.6",
    platform="Linux x86_64",
)


def generator(cell: Cell, seed: int) -> np.random.Generator:
    digest = hashlib.sha256(repr((cell, seed)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little"))


@cache
def settings(method: str, data: str, changes: Settings) -> dict[str, Any]:
    return settings_of(configured(method, data, dict(changes)))


def class_order(cell: Cell, seed: int) -> list[int]:
    """The same for every method on a stream."""
    if cell.stream == "order:confusion":
        return CONFUSION_ORDER
    classes, _ = CLASSES[cell.data]
    if cell.stream == "natural":
        return list(range(classes))
    return [int(label) for label in np.random.default_rng(seed).permutation(classes)]


def draw(
    cell: Cell, order: Sequence[int], random: np.random.Generator, better: float = 1.0
) -> Scores:
    """Confusion matrices after each task (None for many classes) and what they come to."""
    classes, tasks = CLASSES[cell.data]
    share, learned = classes // tasks, LEARNED[cell.data]
    relative, plastic, _ = LEVELS[cell.method]
    known = {memory: level for (data, memory), level in BISON.items() if data == cell.data}
    best = known.get(cell.memory, float(np.mean(list(known.values())))) * factor(cell) * better
    end = learned / tasks if cell.method == "finetune" else relative * best
    fresh = min(learned * plastic, 0.97)
    fresh = max(fresh, end) if cell.method != "gdumb" else fresh
    newest = np.arange(classes) // share
    level = np.clip(random.normal(1, 0.02), 0.9, 1.1)
    counts, matrix = [], []
    for task in range(tasks):
        decay = 0.0 if cell.method == "finetune" else fade(end, fresh, task, tasks)
        target = np.where(newest == task, fresh, decay) * random.normal(1, 0.04, classes) * level
        target = np.where(newest <= task, np.clip(target, 0, 0.99), 0)
        images = TEST_IMAGES[cell.data]
        if classes > SHOWN_CLASSES:
            right = np.bincount(newest, np.round(target * images))
            matrix.append((right / (share * images)).tolist())
        else:
            found = confuse(target, newest, task, order, images, random)
            counts.append(in_original_ids(found, order).tolist())
            matrix.append(accuracy_by_task(found, newest).tolist())
    shown = counts or None
    return Scores(matrix, metrics(matrix), shown)


def fade(end: float, fresh: float, task: int, tasks: int) -> float:
    """Accuracy on earlier tasks: from fresh to what gives the wanted mean at the end."""
    last = (end * tasks - fresh) / (tasks - 1)
    return max(fresh + (last - fresh) * float(np.sqrt(task / (tasks - 1))), 0.01)


def confuse(
    target: np.ndarray[Any, Any],
    task_of: np.ndarray[Any, Any],
    task: int,
    order: Sequence[int],
    images: int,
    random: np.random.Generator,
) -> np.ndarray[Any, Any]:
    """Counts in run ids: the errors of a class go to the newest classes and to similar ones."""
    classes = len(target)
    position = {label: index for index, label in enumerate(order)}
    counts = np.zeros((classes, classes), dtype=np.int64)
    for index in map(int, np.flatnonzero(task_of <= task)):
        weight = np.where(task_of <= task, 1.0, 0.0) + 2.0 * (task_of == task)
        partner = position[PAIRS[order[index]]]
        weight[partner] *= 4
        weight[index] = 0
        right = round(target[index] * images)
        counts[index, index] = right
        counts[index] += random.multinomial(images - right, weight / weight.sum())
    return counts


def metrics(matrix: Matrix) -> Metrics:
    return Metrics(
        AA=average_accuracy(matrix),
        AF=forgetting(matrix, "text"),
        AF_table=forgetting(matrix, "table"),
    )


def log(cell: Cell, random: np.random.Generator) -> list[dict[str, float | None]]:
    """α and η of BISON with two classifiers; nothing for others."""
    _, tasks = CLASSES[cell.data]
    if not settings(cell.method, cell.data, cell.settings).get("dc"):
        return [{} for _ in range(tasks)]
    steps = np.arange(tasks)
    alpha = 0.6 - 0.03 * steps + random.normal(0, 0.01, tasks)
    stream = 2.5 + np.sqrt(steps) * 0.7 + random.normal(0, 0.05, tasks)
    buffer = stream - 0.9
    return [
        {"alpha": float(a), "eta_stream": float(s), "eta_buffer": float(b)}
        for a, s, b in zip(alpha, stream, buffer, strict=True)
    ]


def losses(cell: Cell, random: np.random.Generator) -> Losses:
    """About 100 points a run; a jump at the start of each task."""
    _, tasks = CLASSES[cell.data]
    total = TRAIN_IMAGES[cell.data] // 10
    steps = np.linspace(total / 100, total, 100).astype(int)
    within = ((steps - 1) * tasks / total) % 1
    values = 1.2 + 2.0 * np.exp(-6 * within) + random.normal(0, 0.1, len(steps))
    return Losses(steps.tolist(), values.round(4).tolist())


def timing(cell: Cell, random: np.random.Generator) -> Timing:
    steps = TRAIN_IMAGES[cell.data] // 10
    train = 0.006 * steps * LEVELS[cell.method][2] * random.normal(1, 0.02)
    test = 0.04 * train + (8.0 if cell.method == "gdumb" else 0.0)
    return Timing(
        train_s=train,
        test_s=test,
        total_s=train + test,
        ms_per_step=1e3 * train / steps,
        peak_MB=290.0 + (3.0 if cell.method == "bison" else 0.0) + cell.memory * 0.003,
    )
