"""Plans carried out: what is finished is skipped, what others have is copied, nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bison_ocl.errors import UserError
from bison_ocl.experiments.carry import work
from bison_ocl.experiments.carry.work import Done, Started, attempt
from bison_ocl.experiments.plan.plan import Plan, Wanted, plan
from bison_ocl.experiments.records.ledger import Ledger
from bison_ocl.experiments.records.record import SCHEMA
from bison_ocl.experiments.train.runner import Job
from bison_ocl.files.lock import only_one
from tests.digits import few, use
from tests.experiments.inline import SETTINGS, Carried, one_by_one


@pytest.fixture(autouse=True)
def few_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, few)


@pytest.fixture
def carried(tmp_path: Path) -> Carried:
    return Carried(tmp_path / "out")


def small(name: str, *methods: str, seeds: Sequence[int] = (0,)) -> Plan:
    wanted = Wanted(seeds, methods, ["split-digits"], settings=SETTINGS)
    return plan(name, wanted)


def test_a_finished_plan_runs_nothing_and_keeps_its_file(carried: Carried) -> None:
    asked = small("confusion", "bison", seeds=(0, 1))
    assert len(carried(asked)[0]) == 2
    before = carried.lines("confusion")
    assert carried(asked) == ([], [])
    assert carried.lines("confusion") == before
    assert "0 runs to do, 2 finished" in carried.said
    assert sorted(path.name for path in (carried.out / "confusion").iterdir()) == [
        ".lock",
        "results.jsonl",
    ]


def test_more_seeds_run_only_what_is_new(carried: Carried) -> None:
    carried(small("confusion", "bison"))
    done, _ = carried(small("confusion", "bison", seeds=(0, 1)))
    assert [outcome.job.seeds for outcome in done] == [[1]]


def test_another_setting_or_precision_is_another_run(carried: Carried) -> None:
    asked = small("confusion", "bison")
    carried(asked)
    other = replace(asked.cells[0], settings=(*SETTINGS, ("beta", "0.3")))
    assert len(carried(replace(asked, cells=(other,)))[0]) == 1
    assert len(carried(asked, precision="bf16")[0]) == 1
    assert len(carried.lines("confusion")) == 3


def test_what_another_item_has_is_copied(carried: Carried) -> None:
    carried(small("confusion"))
    assert carried(small("similar-pairs")) == ([], [])
    assert carried.lines("similar-pairs") == carried.lines("confusion")
    assert "3 copied" in carried.said


def test_runs_of_another_version_of_a_method_are_not_copied(carried: Carried) -> None:
    carried(small("confusion", "bison"))
    path = carried.out / "confusion" / "results.jsonl"
    record = json.loads(path.read_text()) | {"method_source": "another"}
    path.write_text(json.dumps(record) + "\n")
    assert len(carried(small("similar-pairs", "bison"))[0]) == 1


def test_timings_are_not_copied_either_way(carried: Carried) -> None:
    carried(small("time", "bison"))
    carried(small("efficiency", "bison"))
    assert [len(carried.lines(item)) for item in ("time", "efficiency")] == [1, 1]
    measured = json.loads(carried.lines("time")[0])["timing"]
    assert measured != json.loads(carried.lines("efficiency")[0])["timing"]
    done, _ = carried(replace(small("balance", "bison"), seeds=(0,)))
    assert done


def test_a_record_without_the_rule_asked_for_is_no_help(carried: Carried) -> None:
    asked = small("confusion", "er")
    plain = replace(asked, cells=tuple(replace(cell, also=()) for cell in asked.cells))
    carried(plain)
    assert len(carried(asked)[0]) == 1
    assert carried(plain) == ([], [])  # the later record holds all of the earlier
    assert carried(small("similar-pairs", "er")) == ([], [])


def test_settings_in_other_words_are_the_same_run(carried: Carried) -> None:
    asked = small("confusion", "bison")
    same = replace(asked.cells[0], settings=(*SETTINGS, ("beta", "0.1")))
    assert len(carried(replace(asked, cells=(asked.cells[0], same)))[0]) == 1


def test_one_failing_run_does_not_stop_the_others(carried: Carried) -> None:
    asked = small("confusion", "er", "bison")
    broken = replace(asked.cells[1], memory=1)  # smaller than a batch of it
    done, failed = carried(replace(asked, cells=(asked.cells[0], broken)))
    assert len(done) == 2
    (one,) = failed
    assert one.job.method == "bison"
    assert one.error is not None
    assert "memory 1 is smaller" in one.error
    assert len(carried.lines("confusion")) == 1
    assert len(carried(asked)[0]) == 1


def test_seeds_that_were_finished_before_a_unit_failed_count(carried: Carried) -> None:
    asked = small("confusion", "bison", seeds=(0, 1))

    def engine(jobs: Sequence[Job], started: Started, done: Done) -> None:
        (job,) = jobs
        attempt(replace(job, seeds=[0]))
        done(attempt(replace(job, device="no such device")))

    _, failed = carried(asked, engine, together=True)
    (one,) = failed
    assert [record.seed for record in one.records] == [0]
    assert one.job.out.exists()  # the other seed may go on from its checkpoint there
    assert len(carried.lines("confusion")) == 1
    done, _ = carried(asked, together=True)
    assert [list(outcome.job.seeds) for outcome in done] == [[1]]


def test_where_an_error_happened_is_kept_until_the_run_succeeds(
    carried: Carried, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = small("confusion", "bison")
    with monkeypatch.context() as patch:
        patch.setattr(work, "run", lambda *_: [][0])
        _, failed = carried(asked)
    (one,) = failed
    path = one.job.out / "error.txt"
    assert one.error == f"IndexError: list index out of range ({path})"
    assert "Traceback" in path.read_text()
    assert carried(asked)[1] == []
    assert not path.exists()


def test_a_trace_with_a_name_that_is_no_text_is_kept(
    carried: Carried, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        raise FileNotFoundError("images/\udcff.png")

    monkeypatch.setattr(work, "run", lost)
    _, (one,) = carried(small("confusion", "bison"))
    assert r"images/\udcff.png" in (one.job.out / "error.txt").read_text("utf-8")


def test_times_of_another_machine_are_pointed_out(carried: Carried) -> None:
    asked = small("time", "er")
    carried(asked)
    path = carried.out / "time" / "results.jsonl"
    record = json.loads(path.read_text())
    record["environment"]["device"] = "abacus"
    path.write_text(json.dumps(record) + "\n")
    carried(asked)
    assert "measured on abacus, this is" in carried.said


def test_times_of_compiled_steps_are_pointed_out(carried: Carried) -> None:
    asked = small("time", "er")
    carried(asked)
    path = carried.out / "time" / "results.jsonl"
    record = json.loads(path.read_text())
    record["timing"]["compiled"] = True
    path.write_text(json.dumps(record) + "\n")
    carried(asked)
    device = record["environment"]["device"]
    assert f"measured on {device}, compiled, this is {device}: choose" in carried.said


def killed_after(units: int) -> object:
    """An engine that is stopped when so many units are done but not yet received."""

    def engine(jobs: Sequence[Job], started: Started, done: Done) -> None:
        one_by_one(jobs[:units], started, done)
        attempt(jobs[units])
        raise KeyboardInterrupt

    return engine


def test_a_unit_that_was_finished_but_not_written_down_is_not_lost(carried: Carried) -> None:
    asked = small("confusion")
    with pytest.raises(KeyboardInterrupt):
        carried(asked, killed_after(1))
    assert len(carried.lines("confusion")) == 1
    (left,) = (carried.out / "confusion" / "work").iterdir()
    (waiting,) = (left / "results.jsonl").read_text().splitlines()
    carried(asked)
    assert len(carried.lines("confusion")) == 3
    assert carried.lines("confusion")[1] == waiting
    assert not (carried.out / "confusion" / "work").exists()


def test_a_unit_is_removed_only_after_its_record_is_written(
    carried: Carried, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    asked = small("confusion", "bison")
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "add", killed)
        with pytest.raises(KeyboardInterrupt):
            carried(asked)
    (left,) = (carried.out / "confusion" / "work").iterdir()
    waiting = (left / "results.jsonl").read_text().splitlines()
    carried(asked)
    assert carried.lines("confusion") == waiting


def test_a_folder_left_by_a_kill_after_the_record_is_cleared(carried: Carried) -> None:
    asked = small("confusion", "bison")
    kept: list[Path] = []

    def engine(jobs: Sequence[Job], started: Started, done: Done) -> None:
        one_by_one(jobs, started, done)
        kept.append(jobs[0].out)

    carried(asked, engine)
    (kept[0] / "checkpoints").mkdir(parents=True)
    carried(asked)
    assert not kept[0].parent.exists()


def test_an_outcome_that_comes_twice_is_written_once(carried: Carried) -> None:
    def twice(jobs: Sequence[Job], started: Started, done: Done) -> None:
        for job in jobs:
            outcome = attempt(job)
            done(outcome)
            done(outcome)

    carried(small("confusion", "bison"), twice)
    assert len(carried.lines("confusion")) == 1


def test_seeds_together_are_one_unit_whichever_are_left(carried: Carried) -> None:
    asked = small("confusion", "bison", seeds=(0, 1))
    names: set[str] = set()

    def engine(jobs: Sequence[Job], started: Started, done: Done) -> None:
        names.update(job.out.name for job in jobs)
        one_by_one(jobs, started, done)

    done, _ = carried(asked, engine, together=True)
    assert [list(outcome.job.seeds) for outcome in done] == [[0, 1]]
    carried(replace(asked, seeds=(1, 2)), engine, together=True)
    assert len(names) == 1
    assert len(carried.lines("confusion")) == 3


def test_a_torn_line_is_set_aside_and_that_run_runs_again(carried: Carried) -> None:
    asked = small("confusion", "er", "bison")
    carried(asked)
    path = carried.out / "confusion" / "results.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    done, _ = carried(asked)
    assert "moved a truncated line to" in carried.said
    assert [outcome.job.method for outcome in done] == ["bison"]
    assert len(carried.lines("confusion")) == 2


def test_half_a_line_in_another_item_is_left_to_whoever_writes_it(carried: Carried) -> None:
    carried(small("confusion"))
    path = carried.out / "confusion" / "results.jsonl"
    torn = path.read_bytes()[:-10]
    path.write_bytes(torn)
    assert len(carried(small("similar-pairs"))[0]) == 1
    assert path.read_bytes() == torn


def test_another_item_of_another_schema_gives_nothing_and_says_so(carried: Carried) -> None:
    carried(small("confusion", "bison"))
    path = carried.out / "confusion" / "results.jsonl"
    path.write_text(path.read_text().replace(f'"schema": {SCHEMA}', '"schema": 9', 1))
    assert len(carried(small("similar-pairs", "bison"))[0]) == 1
    assert "schema 9" in carried.said
    with pytest.raises(UserError, match="schema 9"):
        carried(small("confusion", "bison"))


def test_two_at_a_time_in_one_folder_are_refused(carried: Carried) -> None:
    (carried.out / "confusion").mkdir(parents=True)
    with (
        only_one(carried.out / "confusion" / ".lock", "it"),
        pytest.raises(UserError, match="another process works on"),
    ):
        carried(small("confusion", "bison"))


def test_a_folder_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot write to"):
        Carried(tmp_path / "file")(small("confusion", "bison"))


def test_equal_results_however_a_plan_is_cut(carried: Carried, tmp_path: Path) -> None:
    asked = small("confusion", "bison", seeds=(0, 1))
    carried(asked)
    other = Carried(tmp_path / "other")
    other(asked, together=True)
    for one, two in zip(carried.lines("confusion"), other.lines("confusion"), strict=True):
        first, second = json.loads(one), json.loads(two)
        assert first["accuracy"] == second["accuracy"]
