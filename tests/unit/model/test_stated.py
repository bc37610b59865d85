"""What a spec states, by its places."""

from __future__ import annotations

import pytest

from gpugen.model.finding import ROOT, Pointer
from gpugen.model.stated import Stated

STATED = Stated(
    {"name": "a", "pools": [{"name": "p", "mig": {}}], "delivery": {"a/b": 1, "c": None}}
)


@pytest.mark.parametrize(
    ("pointer", "is_stated"),
    [
        ("", True),
        ("/name", True),
        ("/pools/0/mig", True),
        ("/delivery/a~1b", True),
        ("/delivery/c", True),
        ("/pools/1", False),
        ("/pools/name", False),
        ("/name/0", False),
        ("/name/x", False),
        ("/delivery/a", False),
        ("/delivery/c/d", False),
    ],
)
def test_a_place_is_stated_where_something_stands(pointer: str, is_stated: bool) -> None:
    assert (Pointer(pointer) in STATED) == is_stated


def test_keys_are_those_of_mappings_alone() -> None:
    assert STATED.keys(ROOT / "delivery") == ("a/b", "c")
    assert (
        STATED.keys(ROOT / "pools") == STATED.keys(ROOT / "name") == STATED.keys(ROOT / "x") == ()
    )


def test_scalars_come_with_place_and_key() -> None:
    assert list(STATED.scalars()) == [
        ("/name", "name", "a"),
        ("/pools", "pools", ""),
        ("/pools/0/name", "name", "p"),
        ("/pools/0/mig", "mig", ""),
        ("/delivery", "delivery", ""),
        ("/delivery/a~1b", "a/b", 1),
    ]
