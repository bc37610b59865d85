"""Versions of drivers and tools as tuples that compare as their vendors count."""

from __future__ import annotations


def parts(version: str) -> tuple[int, ...]:
    """Return the numbers of a version such as ``580.65.06`` or ``1.20.0``."""
    return tuple(int(part) for part in version.split("."))


def is_older(version: str, floor: str) -> bool:
    """Tell whether a version comes before another of the same product."""
    return parts(version) < parts(floor)
