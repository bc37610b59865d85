"""Ranges of versions."""

from __future__ import annotations

import pytest

from gpugen.model.platform import RootVersion, VersionRange


@pytest.mark.parametrize(
    ("first", "last", "version", "is_in"),
    [
        ("1.33", "1.36", "1.33", True),
        ("1.33", "1.36", "1.36", True),
        ("1.33", "1.36", "1.36.4", True),
        ("1.33", "1.36", "1.32.9", False),
        ("1.33", "1.36", "1.37", False),
        ("1.9", "1.10", "1.10", True),
        ("", "1.35", "1.2", True),
        ("", "1.35", "1.36", False),
        ("1.36", "", "1.40", True),
        ("", "", "0.1", True),
        ("1.36.1", "1.36.1", "1.36", False),
    ],
)
def test_both_ends_count(first: str, last: str, version: str, is_in: bool) -> None:
    assert (version in VersionRange(first, last)) == is_in


def test_what_holds_for_all_minors_states_none() -> None:
    assert "1.36" in RootVersion(VersionRange(), 3).minors
