"""Versions count as their vendors count; newer names are told from misspelt ones."""

from __future__ import annotations

import pytest

from gpugen.text.versions import is_older, newest_before


@pytest.mark.parametrize(
    ("version", "floor", "older"),
    [
        ("580.65.06", "580.105.08", True),  # not as text
        ("580.105.08", "580.105.8", False),
        ("1.20", "1.20.0", True),
        ("1.20.0", "1.20.0", False),
    ],
)
def test_numbers_are_compared_as_numbers(version: str, floor: str, older: bool) -> None:
    assert is_older(version, floor) is older


@pytest.mark.parametrize(
    ("name", "newest"),
    [
        ("ubuntu-28.04", "ubuntu-26.04"),
        ("ubuntu-26.10", "ubuntu-26.04"),
        ("ubuntu-25.04", ""),  # older than what is known
        ("ubunto-28.04", ""),  # another kind
        ("debian-99", "debian-13"),
        ("debian-1" + "0" * 12, ""),  # no version, however many digits
        ("ubuntu", ""),
        ("", ""),
    ],
)
def test_only_a_newer_name_of_a_known_kind_is_newer(name: str, newest: str) -> None:
    known = ["ubuntu-24.04", "ubuntu-26.04", "debian-12", "debian-13", "flatcar"]
    assert newest_before(name, known) == newest
