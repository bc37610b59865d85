"""Pointers lead to any key, whatever its text; warnings stop nothing."""

from __future__ import annotations

import pytest

from gpugen.model.finding import ROOT, Finding, Pointer, Severity, is_fatal


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((), ""),
        (("pools", 0, "name"), "/pools/0/name"),
        (("nvidia.com/gpu", "a~b"), "/nvidia.com~1gpu/a~0b"),
        (("~1", "~01", ""), "/~01/~001/"),  # RFC 6901: ~0 is undone last
    ],
)
def test_a_pointer_keeps_its_parts(parts: tuple[str | int, ...], text: str) -> None:
    pointer = ROOT
    for part in parts:
        pointer = pointer / part
    assert pointer == text
    assert Pointer(text).parts == tuple(map(str, parts))


def test_warnings_stop_nothing() -> None:
    warning = Finding("a", "b", "c", severity=Severity.WARNING)
    assert not is_fatal([])
    assert not is_fatal([warning, warning])
    assert is_fatal([warning, Finding("a", "b", "c")])
