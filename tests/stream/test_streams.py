"""Every stream: each image once, the same by seed, classes numbered as they appear."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bison_ocl.batch import Batch
from bison_ocl.data.dataset import Dataset
from bison_ocl.errors import UserError
from bison_ocl.stream.blurry import blurry, share
from bison_ocl.stream.class_incremental import class_incremental
from bison_ocl.stream.long_tailed import long_tailed, sizes
from bison_ocl.stream.one_class import one_class
from bison_ocl.stream.order import order
from bison_ocl.stream.streams import DEFAULT, STREAMS, canonical, parse, stream_of
from bison_ocl.stream.tasks import Stream, side_by_side

TEXTS = [
    "class-incremental",
    "natural",
    "blurry",
    "blurry:disjoint=0,spill=100",
    "blurry:disjoint=30,spill=37.5",
    "long-tailed:factor=20",
    "one-class",
    "iid",
]
"""Streams for any dataset; long-tailed ones leave out images, the others none."""


def dataset(counts: Sequence[int], tasks: int, seed: int = 0) -> Dataset:
    """So many training images of each class, mixed; the pixels of image i say i."""
    labels = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    labels = labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))]
    numbers = torch.arange(len(labels))
    pixels = torch.stack([numbers // 65536, numbers // 256 % 256, numbers % 256], 1)
    test = torch.arange(len(counts)).repeat(3)
    names = tuple(f"class {label}" for label in range(len(counts)))
    return Dataset(
        "toy",
        Batch(pixels.to(torch.uint8)[:, :, None, None], labels),
        Batch(torch.zeros(len(test), 3, 1, 1, dtype=torch.uint8), test),
        classes=len(counts),
        tasks=tasks,
        class_names=names,
    )


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    counts = draw(st.lists(st.integers(1, 25), min_size=1, max_size=9))
    return dataset(counts, draw(st.integers(1, len(counts))), draw(st.integers(0, 3)))


def arrived(stream: Stream, size: int) -> list[int]:
    """The images that the batches of a stream bring, by the number in their pixels."""
    pixels = [
        batch.x[:, :, 0, 0].long()
        for task in range(stream.tasks)
        for batch in stream.batches(task, size)
    ]
    return (torch.cat(pixels) @ torch.tensor([65536, 256, 1])).tolist()


def same(one: Stream, other: Stream) -> bool:
    return (
        one.order == other.order
        and one.task_of_class == other.task_of_class
        and len(one.images) == len(other.images)
        and all(map(torch.equal, one.images, other.images))
    )


texts = st.sampled_from(TEXTS)
seeds = st.integers(0, 2**31 - 1)


@settings(max_examples=60)
@given(datasets(), texts, seeds, st.integers(1, 12))
def test_every_image_arrives_exactly_once(data: Dataset, text: str, seed: int, size: int) -> None:
    found = arrived(stream_of(text, data, seed), size)
    assert len(found) == len(set(found))
    if not text.startswith("long-tailed"):
        assert sorted(found) == list(range(len(data.train)))


@settings(max_examples=30)
@given(st.data(), datasets(), seeds)
def test_any_order_shows_every_image_once(draw: st.DataObject, data: Dataset, seed: int) -> None:
    labels = draw.draw(st.permutations(range(data.classes)))
    cut = draw.draw(st.integers(1, data.classes))
    stream = order(data, seed, [part for part in (labels[:cut], labels[cut:]) if part])
    assert sorted(arrived(stream, 4)) == list(range(len(data.train)))
    assert set(stream.order[: len(labels[:cut])]) == set(labels[:cut])


@settings(max_examples=40)
@given(datasets(), texts, seeds, st.integers(1, 12))
def test_only_the_last_batch_of_a_task_is_short(
    data: Dataset, text: str, seed: int, size: int
) -> None:
    stream = stream_of(text, data, seed)
    for task in range(stream.tasks):
        lengths = [len(batch) for batch in stream.batches(task, size)]
        assert len(lengths) == stream.steps(task, size)
        assert sum(lengths) == len(stream.images[task])
        assert all(length == size for length in lengths[:-1])
        assert all(length > 0 for length in lengths)


@settings(max_examples=40)
@given(datasets(), st.lists(seeds, min_size=1, max_size=4), st.integers(1, 12), st.integers(0, 2))
def test_streams_side_by_side_bring_what_each_brings(
    data: Dataset, chosen: list[int], size: int, start: int
) -> None:
    streams = [stream_of("natural", data, seed) for seed in chosen]
    for task in range(data.tasks):
        together = list(side_by_side(streams, task, size, start))
        each = [list(stream.batches(task, size))[start:] for stream in streams]
        assert len(together) == max(0, streams[0].steps(task, size) - start)
        for stacked, *batches in zip(together, *each, strict=True):
            assert torch.equal(stacked.x, torch.stack([batch.x for batch in batches]))
            assert torch.equal(stacked.y, torch.stack([batch.y for batch in batches]))
            assert stacked.x.is_contiguous()


@settings(max_examples=40)
@given(datasets(), texts, seeds)
def test_classes_are_numbered_as_they_appear(data: Dataset, text: str, seed: int) -> None:
    stream = stream_of(text, data, seed)
    assert sorted(stream.order) == list(range(data.classes))
    met, first = 0, []
    for task in range(stream.tasks):
        for label in torch.cat([b.y for b in stream.batches(task, 7)] or [torch.empty(0)]).tolist():
            assert label <= met
            first += [task] * (label == met)
            met = max(met, int(label) + 1)
    assert stream.task_of_class == tuple(first)


@settings(max_examples=40)
@given(datasets(), texts, seeds)
def test_labels_go_back_to_the_datasets(data: Dataset, text: str, seed: int) -> None:
    stream = stream_of(text, data, seed)
    for task in range(stream.tasks):
        labels = [stream.order[label] for b in stream.batches(task, 5) for label in b.y.tolist()]
        assert labels == data.train.y[stream.images[task]].tolist()


@settings(max_examples=40)
@given(datasets(), texts, seeds)
def test_the_seed_alone_decides(data: Dataset, text: str, seed: int) -> None:
    torch.manual_seed(1)
    one = stream_of(text, data, seed)
    torch.manual_seed(2)
    assert same(one, stream_of(text, data, seed))
    assert same(one, stream_of(canonical(text, data), data, seed))


@settings(max_examples=40)
@given(datasets(), texts, seeds)
def test_every_column_of_the_accuracy_matrix_has_classes(
    data: Dataset, text: str, seed: int
) -> None:
    stream = stream_of(text, data, seed)
    assert set(stream.column_of_class) == set(range(stream.tasks))
    assert stream.overlapping == text.startswith("blurry")
    if not stream.overlapping:
        assert stream.column_of_class == stream.task_of_class


@pytest.mark.parametrize("text", ["class-incremental", "blurry", "iid", "order:confusion"])
def test_seeds_differ(text: str) -> None:
    data = dataset([20] * 10, 5)
    assert not same(stream_of(text, data, 0), stream_of(text, data, 1))


@pytest.mark.parametrize("text", ["long-tailed:factor=3", "blurry:disjoint=0,spill=50"])
def test_the_seed_chooses_the_images_that_stay(text: str) -> None:
    """Not the first ones of a class, which a dataset may have sorted."""
    streams = [stream_of(text, dataset([30, 30], 2), seed) for seed in range(9)]
    found = {tuple(frozenset(task.tolist()) for task in stream.images) for stream in streams}
    assert len(found) == 9


@pytest.mark.parametrize("text", ["natural", "order:confusion"])
def test_a_fixed_order_keeps_its_tasks_whatever_the_seed(text: str) -> None:
    data = dataset([4] * 10, 5)
    tasks = [
        [set(data.train.y[images].tolist()) for images in stream_of(text, data, seed).images]
        for seed in range(3)
    ]
    assert tasks[0] == tasks[1] == tasks[2]


def test_natural_order() -> None:
    stream = stream_of("natural", dataset([3] * 7, 3), 5)
    found = [set(stream.dataset.train.y[images].tolist()) for images in stream.images]
    assert found == [{0, 1, 2}, {3, 4}, {5, 6}]


def test_the_confusion_protocol() -> None:
    """The order of the paper's confusion matrices."""
    stream = stream_of("order:confusion", dataset([3] * 10, 5), 0)
    found = [set(stream.dataset.train.y[images].tolist()) for images in stream.images]
    assert found == [{3, 4}, {5, 1}, {7, 0}, {9, 2}, {8, 6}]


def test_one_class_has_the_order_of_class_incremental() -> None:
    data = dataset([5] * 6, 6)
    assert same(one_class(data, 3), class_incremental(data, 3))


def test_iid_is_one_task() -> None:
    stream = stream_of("iid", dataset([9, 1, 4], 3), 0)
    assert stream.tasks == 1
    assert stream.task_of_class == (0, 0, 0)


@pytest.mark.parametrize("parameters", [{"disjoint": 100}, {"spill": 0}])
def test_blurry_without_blur_is_class_incremental(parameters: dict[str, float]) -> None:
    data = dataset([9, 3, 12, 5, 7, 8], 3)
    assert same(blurry(data, 4, **parameters), class_incremental(data, 4))


def test_blurry_spills_the_share_asked_for() -> None:
    data = dataset([100] * 10, 5)
    stream = blurry(data, 1, disjoint=50, spill=20)
    counts = torch.stack(
        [torch.bincount(data.train.y[images], minlength=10) for images in stream.images]
    )
    assert counts.sum(1).tolist() == [200] * 5
    home = counts.max(0).values
    assert sorted(home.tolist()) == [80] * 5 + [100] * 5
    spilled = counts[:, home == 80]
    assert torch.equal(spilled.sort(0).values[:4], torch.full((4, 5), 5))
    for label, task in zip(stream.order, stream.home_of_class or (), strict=True):
        assert counts[:, label].argmax() == task
    solid = (counts == 100).sum(1)
    assert solid.tolist() == [1] * 5, "disjoint classes are spread evenly over tasks"


def test_shares_are_rounded_half_up() -> None:
    found = [share(10, percent) for percent in (0, 4, 5, 24, 25, 100)]
    assert found == [0, 0, 1, 2, 3, 10]


def test_long_tailed_class_sizes() -> None:
    data = dataset([200] * 5, 5)
    stream = long_tailed(data, 2, factor=16)
    kept = torch.bincount(data.train.y[torch.cat(stream.images)], minlength=5)
    assert sorted(kept.tolist(), reverse=True) == [200, 100, 50, 25, round(200 / 16)]
    other = sizes(data.train.y, 3, 16, 5)
    assert other != kept.tolist(), "the ranking is shuffled by seed"


def test_long_tailed_keeps_at_least_one_image_and_never_more_than_there_are() -> None:
    data = dataset([50, 2, 30, 1, 9], 5)
    stream = long_tailed(data, 0, factor=10_000)
    kept = torch.bincount(data.train.y[torch.cat(stream.images)], minlength=5)
    assert (kept >= 1).all()
    assert (kept <= torch.tensor([50, 2, 30, 1, 9])).all()


def test_long_tailed_with_factor_1_keeps_everything() -> None:
    data = dataset([6] * 4, 2)
    assert same(long_tailed(data, 0, factor=1), class_incremental(data, 0))


def test_tests_of_classes_met_so_far() -> None:
    stream = class_incremental(dataset([4] * 6, 3), 0)
    for task in range(3):
        assert sorted(set(stream.test(task).y.tolist())) == list(range(2 * task + 2))
    assert sorted(stream.test_of_first(3).y.tolist()) == [0] * 3 + [1] * 3 + [2] * 3


def test_tests_are_of_classes_met_though_their_home_is_a_later_task() -> None:
    stream = blurry(dataset([20] * 6, 3), 0, disjoint=0, spill=30)
    met: set[int] = set()
    for task in range(3):
        met |= {label for batch in stream.batches(task, 10) for label in batch.y.tolist()}
        assert set(stream.test(task).y.tolist()) == met
    assert stream.task_of_class != stream.home_of_class


def test_orders_from_files(tmp_path: Path) -> None:
    data = dataset([3] * 4, 2)
    by_name = tmp_path / "mine.json"
    by_name.write_text(json.dumps([["class 2"], [3, "class 0", 1]]))
    text = canonical(f"order:{by_name}", data)
    assert text == "order:2/3,0,1"
    assert same(stream_of(text, data, 0), order(data, 0, [[2], [3, 0, 1]]))


def test_a_file_that_says_what_is_shipped_is_the_shipped_one(tmp_path: Path) -> None:
    file = tmp_path / "copy.json"
    file.write_text("[[3,4],[5,1],[7,0],[9,2],[8,6]]")
    assert canonical(f"order:{file}", dataset([1] * 10, 5)) == "order:confusion"


def test_an_order_as_windows_saves_it(tmp_path: Path) -> None:
    file = tmp_path / "order.json"
    file.write_text("[[2],\r\n[3, 0, 1]]\r\n", "utf-8-sig")
    assert canonical(f"order:{file}", dataset([3] * 4, 2)) == "order:2/3,0,1"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("iid", "iid"),
        ("blurry", "blurry:disjoint=50,spill=10"),
        ("blurry: spill=5.0", "blurry:disjoint=50,spill=5"),
        ("blurry:spill=2.5,disjoint=0", "blurry:disjoint=0,spill=2.5"),
        ("long-tailed:factor=1e2", "long-tailed:factor=100"),
    ],
)
def test_canonical_form(text: str, form: str) -> None:
    data = dataset([1] * 4, 2)
    assert canonical(text, data) == form
    assert canonical(form, data) == form


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("blury", "did you mean 'blurry'"),
        ("", "choose from"),
        ("blurry:spil=3", "did you mean 'spill'"),
        ("blurry:spill=101", "from 0 to 100"),
        ("blurry:spill=nan", "from 0 to 100"),
        ("blurry:spill", "expected a number"),
        ("blurry:spill=1,spill=2", "twice"),
        ("long-tailed:factor=0.5", "from 1 to 10000"),
        ("iid:a=1", "no parameters"),
        ("order", "order:PATH"),
        ("order:nowhere.json", "cannot read"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        parse(text)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[[0, 1], [2, 3]", "not JSON"),
        ("[[0, 1], [2, 3, 0]]", "twice class 0"),
        ("[[0, 1], [2]]", r"leaves out class 3 \(class 3\)"),
        ("[[0, 1], [2, 4]]", "has 0 to 3"),
        ("[[0, 1], [2, -1]]", "has 0 to 3"),
        ('[[0, 1], [2, "class3"]]', "did you mean 'class 3'"),
        ("[[0, 1], [2, true]]", "expected lists of class ids"),
        ("[[0, 1, 2, 3], []]", "expected lists of class ids"),
        ("[0, 1, 2, 3]", "expected lists of class ids"),
        ("[]", "expected lists of class ids"),
        ('{"tasks": []}', "expected lists of class ids"),
        ("3", "expected lists of class ids"),
    ],
)
def test_bad_order_files_are_refused(tmp_path: Path, content: str, why: str) -> None:
    file = tmp_path / "order.json"
    file.write_text(content)
    with pytest.raises(UserError, match=why):
        canonical(f"order:{file}", dataset([1] * 4, 2))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "order.json"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not text"):
        parse(f"order:{file}")


def test_functions_check_their_parameters_too() -> None:
    with pytest.raises(UserError, match="spill=200"):
        blurry(dataset([1] * 4, 2), 0, spill=200)


def test_more_tasks_than_classes_are_refused() -> None:
    with pytest.raises(UserError, match="4 tasks: expected 1 to"):
        class_incremental(dataset([1] * 3, 4), 0)


def test_names_are_read_without_torch() -> None:
    code = "import sys, bison_ocl.stream.streams; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert DEFAULT in STREAMS
