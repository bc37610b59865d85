"""Versions of drivers and tools, compared as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

UPGRADE = "upgrade gpugen, or correct the version if it is a typo"
_VERSIONED = re.compile(r"(.*?)([0-9]{1,9}(?:\.[0-9]{1,9}){0,5})")


def parts(version: str) -> tuple[int, ...]:
    """Return the numbers of a version such as ``580.65.06`` or ``1.20.0``."""
    return tuple(int(part) for part in version.split("."))


def release(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with; 0.2 and 0.2.0 are one."""
    found = re.match(r"[0-9.]*", version)
    numbers = [int(number) for number in found[0].split(".") if number] if found else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def is_older(version: str, floor: str) -> bool:
    """Tell whether a version comes before another of the same product."""
    return parts(version) < parts(floor)


def newest_before(name: str, known: Iterable[str]) -> str:
    """Return the newest known name of the same kind, if this one is newer than it; else nothing.

    Names are of one kind if they differ in the version at their end only, such as ubuntu-24.04 and
    ubuntu-28.04, or 1.37 and 1.38.
    """
    if not (own := _VERSIONED.fullmatch(name)):
        return ""
    found = (_VERSIONED.fullmatch(other) for other in known)
    same = [one for one in found if one and one[1] == own[1] and len(parts(one[2])) > 0]
    newest = max(same, key=lambda one: parts(one[2]), default=None)
    return newest[0] if newest and parts(newest[2]) < parts(own[2]) else ""


def newer_words(what: str, newest: str = "") -> str:
    """Return the message that something is newer than this gpugen."""
    from gpugen import __version__

    known = f" (the newest is {newest})" if newest else ""
    return f"{what} is newer than any that gpugen {__version__} knows{known}"
