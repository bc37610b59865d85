"""MIG layouts on the command line: verdicts as exit codes, nearest layouts, solved ones."""

from __future__ import annotations

import pytest
import yaml

from support.commands import gpugen

A100 = "a100-sxm4-40gb"
H100 = "h100-sxm5-80gb"


def test_a_layout_that_fits_shows_its_places() -> None:
    answer = gpugen("mig", "check", A100, "3g.20gb=1", "2g.10gb=2")
    assert answer.code == 0
    assert answer.out.startswith("1 x 3g.20gb + 2 x 2g.10gb fits a100-sxm4-40gb: ")
    assert answer.out.count("@") == 3


def test_a_layout_that_does_not_fit_names_the_nearest() -> None:
    """The compute slices add up to seven; the memory slices do not."""
    answer = gpugen("mig", "check", A100, "3g.20gb=2", "1g.5gb=1")
    assert answer.code == 1
    verdict, *nearest = answer.out.splitlines()
    assert "needs 9 memory slices, the GPU has 8" in verdict
    assert nearest
    for line in nearest:
        profiles = [part.split(" x ") for part in line.removeprefix("    fits: ").split(" + ")]
        assert gpugen("mig", "check", A100, *(f"{name}={n}" for n, name in profiles)).code == 0


def test_an_unknown_profile_does_not_fit() -> None:
    answer = gpugen("mig", "check", A100, "1g.6gb=1")
    assert answer.code == 1
    assert "is not a MIG profile of this GPU model, which has 1g.5gb" in answer.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", "a100", "1g.5gb=1"), "did you mean one of a100-"),
        (("check", "t4", "1g.5gb=1"), "t4 cannot be partitioned: it has no MIG"),
        (("list", "h20-3e"), "the MIG profiles are not documented"),
        (("check", A100, "1g.5gb"), "'1g.5gb' is not PROFILE=COUNT"),
        (("check", A100, "1g.5gb=0"), "'1g.5gb=0' is not PROFILE=COUNT"),
        (("check", A100, "1g.5gb=-1"), "'1g.5gb=-1' is not PROFILE=COUNT"),
        (("check", A100, "1g.5gb=٣"), "is not PROFILE=COUNT"),
        (("check", A100, "1g.5gb=1", "1g.5gb=2"), "duplicate profile '1g.5gb'"),
        (("solve", A100, "1g.5gb=1", "--gpus", "17"), "17 is not in the range"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_usage(arguments: tuple[str, ...], said: str) -> None:
    answer = gpugen("mig", *arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert said in answer.err


def test_list_shows_profiles_and_full_layouts() -> None:
    answer = gpugen("mig", "list", A100)
    assert answer.code == 0
    assert "nvidia.com/mig-1g.5gb.me" in answer.out
    full = answer.out.partition("full layouts:\n")[2].splitlines()
    every = gpugen("mig", "list", A100, "--all").out.partition("\nlayouts:\n")[2].splitlines()
    assert "  7 x 1g.5gb" in full
    assert set(full) < set(every)


def test_solve_prints_a_layout_that_a_spec_takes() -> None:
    answer = gpugen("mig", "solve", H100, "3g.40gb=3", "1g.10gb=10", "--gpus", "8")
    assert answer.code == 0
    layout = yaml.safe_load(answer.out)["layout"]
    gpus = [gpu for entry in layout for gpu in entry["gpus"]]
    assert gpus == list(range(8))  # those that carry nothing are named, too
    assert layout[-1]["profiles"] == {}
    totals: dict[str, int] = {}
    for entry in layout:
        asked = [f"{name}={count}" for name, count in entry["profiles"].items()]
        assert not asked or gpugen("mig", "check", H100, *asked).code == 0
        for name, count in entry["profiles"].items():
            totals[name] = totals.get(name, 0) + count * len(entry["gpus"])
    assert totals == {"3g.40gb": 3, "1g.10gb": 10}


@pytest.mark.parametrize(
    ("profiles", "said"),
    [
        (("7g.80gb=9",), "needs 9 GPUs of h100-sxm5-80gb, but a node has 8"),
        (("1g.5gb=1",), "has no profile 1g.5gb; it has 1g.10gb"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_solved(profiles: tuple[str, ...], said: str) -> None:
    answer = gpugen("mig", "solve", H100, *profiles, "--gpus", "8")
    assert answer.code == 1
    assert said in answer.out


def test_solve_without_a_count_takes_as_few_gpus_as_can_hold_them() -> None:
    answer = gpugen("mig", "solve", H100, "7g.80gb=3")
    assert yaml.safe_load(answer.out)["layout"] == [{"gpus": [0, 1, 2], "profiles": {"7g.80gb": 1}}]
    assert "count: 3" in answer.out


def test_solve_says_where_no_node_is_large_enough() -> None:
    answer = gpugen("mig", "solve", H100, "7g.80gb=17")
    assert (answer.code, "needs more than 16 GPUs" in answer.out) == (1, True)
