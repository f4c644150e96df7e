"""Seeds as text, and what makes two runs the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bison_ocl.errors import UserError
from bison_ocl.experiments.carry.rerun import job_of
from bison_ocl.experiments.records import results as records
from bison_ocl.experiments.records.ledger import by_identity, check_versions, looked_up
from bison_ocl.experiments.records.spec import Spec, parse_seeds
from bison_ocl.experiments.train.runner import specs_of
from bison_ocl.methods.settings import configured
from tests.made_up import record

SPEC = Spec("er", "split-digits", 100, 3, {"lr": 0.1, "joint": False})


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("0", [0]),
        ("0-3", [0, 1, 2, 3]),
        ("5-5", [5]),
        ("0,2,5-7", [0, 2, 5, 6, 7]),
        ("2,0,2,1-2", [2, 0, 1]),
        (" 1 , 3 - 4 ", [1, 3, 4]),
        ("007", [7]),
        (str(2**31 - 1), [2**31 - 1]),
    ],
)
def test_seeds(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "a",
        "-1",
        "1-",
        "-",
        "1--2",
        "3-1",
        "0,,2",
        "0,",
        "1.5",
        "1e3",
        "0x1",
        "1 2",
        "0-9-10",
        "0..9",
        "0;1",
        "2147483648",
        "nan",
        "--2",
        "[0]",
    ],
)
def test_malformed_seeds_are_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"--seeds .*such as 0-9 or 0,2,5-7"):
        parse_seeds(text)


@pytest.mark.parametrize(
    "change",
    [
        {"method": "bison"},
        {"data": "other"},
        {"memory": 99},
        {"seed": 4},
        {"settings": {"lr": 0.2, "joint": False}},
        {"settings": {"lr": 0.1, "joint": True}},
        {"precision": "bf16"},
        {"precision": "fp32"},
    ],
)
def test_runs_that_differ_have_other_names_and_records(change: dict[str, Any]) -> None:
    other = replace(SPEC, **change)
    assert other.name != SPEC.name
    assert record(**vars(SPEC)).identity == SPEC.identity
    assert other.identity != SPEC.identity
    assert (other.experiment == SPEC.experiment) == ("seed" in change)


def test_the_name_is_a_file_name_that_stays() -> None:
    again = replace(SPEC, settings={"joint": False, "lr": 0.1})
    assert again.name == SPEC.name
    assert SPEC.name.startswith("er-split-digits-m100-s3-")
    assert "/" not in SPEC.name


def test_runs_without_averaged_weights_keep_the_names_of_their_files() -> None:
    def with_average(value: float) -> Spec:
        return replace(SPEC, settings=SPEC.settings | {"average": value})

    assert with_average(0.0).name == SPEC.name != with_average(0.995).name
    assert SPEC.settings == {"lr": 0.1, "joint": False}
    assert with_average(0.0).settings["average"] == 0.0


def test_runs_from_before_there_was_a_precision_are_tf32() -> None:
    old = {name: value for name, value in vars(SPEC).items() if name != "precision"}
    assert Spec(**old).identity == SPEC.identity
    assert SPEC.name == "er-split-digits-m100-s3-e05153ea"


def test_on_a_cpu_tf32_and_fp32_are_one_identity() -> None:
    plain, full = replace(SPEC, precision="tf32"), replace(SPEC, precision="fp32")
    assert plain.on("cpu").identity == full.on("cpu").identity == full.identity
    assert plain.on("cuda:0").identity == plain.identity != full.on("cuda:0").identity
    assert replace(SPEC, precision="bf16").on("cpu").precision == "bf16"


def test_only_seeds_of_one_experiment_must_be_of_one_version() -> None:
    found = record(**vars(SPEC) | {"seed": 4}, method_source="another")
    with pytest.raises(UserError, match="seed 4 in here comes from another version of er"):
        check_versions([found], SPEC, Path("here"))
    check_versions([replace(found, memory=99)], SPEC, Path("here"))


# --- what was recorded by earlier versions ---

COMMITTED = sorted(Path(__file__).parents[2].glob("results/*/*.jsonl"))


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_committed_record_is_still_finished(path: Path) -> None:
    """Whatever settings methods gained since, the run of a record is not run again."""
    found = records.read(path)
    assert found
    for one in found:
        job = job_of(one, Path(), one.environment.device_type, None)
        (spec,) = specs_of(job, configured(job.method, job.data, job.settings), job.stream)
        assert looked_up(by_identity([one]), spec, job.also) == one, one.name


def test_a_setting_that_a_record_does_not_know_has_its_default() -> None:
    told = replace(SPEC, method="ocm", settings={"lr": 0.1})
    by_set, by_position = (
        replace(told, settings={"lr": 0.1, "old_logits": reading})
        for reading in ("set", "position")
    )
    assert by_set.identity == told.identity != by_position.identity


def test_runs_of_a_method_that_is_gone_are_told_apart_by_what_they_say() -> None:
    told = replace(SPEC, method="once")
    assert replace(told, settings={"lr": 0.2}).identity != told.identity
