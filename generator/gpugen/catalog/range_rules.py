"""Ranges of versions in a row: the first must not come after the last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from gpugen.text.versions import parts

Steps: TypeAlias = tuple[str | int, ...]
Backwards: TypeAlias = tuple[Steps, tuple[str, Any, str, Any]]  # where; first key, value, last

_ENDS = (
    ("from", "to"),
    ("minBranch", "maxBranch"),
    ("minBranch", "lastBranch"),
    ("minVersion", "lastBranch"),
)


def backwards(row: Any, at: Steps = ()) -> Iterator[Backwards]:
    """Yield the ranges of a row that contain nothing, with the place of their first end."""
    items = row.items() if isinstance(row, Mapping) else enumerate(row)
    for key, value in items:
        if isinstance(value, Mapping | list):
            yield from backwards(value, (*at, key))
    if isinstance(row, Mapping):
        yield from (
            ((*at, first), (first, row[first], last, row[last]))
            for first, last in _ENDS
            if first in row and last in row and _is_after(row[first], row[last])
        )


def _is_after(first: str | int, last: str | int) -> bool:
    """Tell whether a range is empty; its last end counts with all that begins like it."""
    end = parts(str(last))
    return parts(str(first))[: len(end)] > end
