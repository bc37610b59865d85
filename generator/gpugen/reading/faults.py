"""What is wrong with a file, with its place; and the bounds that every file keeps."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from gpugen.model.finding import Finding, Location
from gpugen.reading.words import FAULTS

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 64
MAX_NODES = 2_000_000
MAX_SCALAR = 64 * 1024
MAX_EXPANSION = 10  # values after following every alias, per value that is written
MAX_FAULTS = 100
SHOWN = 40  # characters of a user's value in a message


def shown(text: str) -> str:
    """Spell a user's text for a message: one line, at most 40 characters, nothing invisible."""
    short = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in short)


class Lines:
    """Turns offsets in a text into lines and columns, both from 1."""

    __slots__ = ("_starts",)

    def __init__(self, text: str) -> None:
        self._starts = [0]
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


class Faults:
    """Collects what is wrong with one file; at most a hundred, in the order of discovery."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.found: list[Finding] = []
        self._text = text

    @cached_property
    def lines(self) -> Lines:
        """The places of the text's lines."""
        return Lines(self._text)

    def add(self, id: str, offset: int, *values: object) -> None:
        """Add a finding at an offset of the text; values go into its words."""
        if len(self.found) < MAX_FAULTS:
            line, column = self.lines.place(min(offset, len(self._text)))
            self.found.append(fault(id, Location(self.path, line, column), *values))


def fault(id: str, location: Location, *values: object) -> Finding:
    """Make a finding about a file; values go into the words of its id."""
    words = FAULTS[id]
    return Finding(id, words.message.format(*values), words.hint.format(*values), location=location)
