"""Only regular files are opened, and none costs more than its budget."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bison_ocl.data.reading.budget import Budget, SharedBudget, open_regular, read_regular
from bison_ocl.errors import UserError
from bison_ocl.stream import order
from bison_ocl.stream.streams import parse


def test_a_regular_file_and_a_link_to_one_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("file", "link"):
        assert read_regular(tmp_path / name, most=5) == b"12345"
    with pytest.raises(UserError, match="has 5 bytes: expected at most 4"):
        read_regular(tmp_path / "file", most=4)
    with (
        open_regular(tmp_path / "file", 5, at_once=3) as file,
        pytest.raises(UserError, match="asks for 4 bytes at once"),
    ):
        file.read(4)


def pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def link_to_pipe(path: Path) -> Path:
    path.symlink_to(pipe(path.with_suffix(".pipe")))
    return path


@pytest.mark.parametrize("make", [pipe, link_to_pipe, lambda _: Path("/dev/zero")])
def test_nothing_else_is_opened_or_waited_for(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path / "odd")
    for read in (lambda: read_regular(path, 100), lambda: parse(f"order:{path}")):
        with pytest.raises(UserError, match=f"^{path} is not a regular file"):
            read()


def test_a_folder_is_no_order(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read the order .*: Is a directory"):
        parse(f"order:{tmp_path}")


def test_a_large_order_or_one_of_nobody_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "order.json").write_text("[[0, 1], [2, 3]]")
    assert parse(f"order:{tmp_path}/order.json")
    monkeypatch.setattr(order, "LARGEST", 10)
    with pytest.raises(UserError, match="has 16 bytes: expected at most 10"):
        parse(f"order:{tmp_path}/order.json")
    with pytest.raises(UserError, match=r"no home folder for '~nouser/a\.json': give order:"):
        parse("order:~nouser/a.json")


def test_a_budget_refuses_the_first_step_beyond_it() -> None:
    budget = Budget(3, UserError("spent"))
    budget.spend(2)
    budget.spend()
    with pytest.raises(UserError, match="spent"):
        budget.spend()


def test_a_pool_lends_no_more_than_it_has() -> None:
    pool, most, now = SharedBudget(3), [0], [0]

    def work() -> None:
        for _ in range(50):
            with pool.borrowed(2):
                now[0] += 2
                most[0] = max(most[0], now[0])
                now[0] -= 2

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most[0], pool.left) == (2, 3)
