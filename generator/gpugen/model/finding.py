"""Findings about a spec: what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple


class Pointer(str):
    """A place in the spec as JSON Pointer (RFC 6901), extended by ``/``."""

    __slots__ = ()

    def __truediv__(self, part: str | int) -> Pointer:
        return Pointer(f"{self}/{str(part).replace('~', '~0').replace('/', '~1')}")

    @property
    def parts(self) -> tuple[str, ...]:
        """The unescaped steps from the root; empty for the root itself."""
        return tuple(p.replace("~1", "/").replace("~0", "~") for p in self.split("/")[1:])


ROOT = Pointer("")


MOST_OF_A_KIND = 100  # findings of one stage in one file; more are not searched for


class Severity(StrEnum):
    """The severity of a finding: an error stops the run, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


class Location(NamedTuple):
    """A place in a file; line and column count from 1."""

    path: str
    line: int
    column: int


class Finding(NamedTuple):
    """One error or warning about a spec. ``report`` adds the location that a stage does not know.

    at_key: the key itself is wrong, not its value. location: set only if there is no pointer (a
    file that does not parse).
    """

    id: str
    message: str
    hint: str
    at: Pointer = ROOT
    severity: Severity = Severity.ERROR
    at_key: bool = False
    tags: tuple[str, ...] = ()
    location: Location | None = None
    suppressed: str = ""  # why the repository switched it off


class Row(NamedTuple):
    """A finding with its place; path is relative to the current folder if it is below it."""

    path: str
    line: int
    column: int
    id: str
    pointer: str
    severity: str
    message: str
    hint: str
    tags: tuple[str, ...]
    suppressed: str = ""  # why the repository switched it off


class Changed(NamedTuple):
    """A path of the output that differs from the specs, or that a run changed.

    path: a folder ends in a slash. kind: as in ``write.survey``, or without-spec.
    """

    path: str
    cluster: str
    kind: str


def is_fatal(findings: Iterable[Finding]) -> bool:
    """Tell whether any finding stops the run."""
    return any(f.severity is Severity.ERROR for f in findings)
