"""What is wrong with a file, with its place; and the bounds that every file keeps."""

from __future__ import annotations

from bisect import bisect_right

from gpugen.model.finding import Finding, Location

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 64
MAX_EVENTS = 500_000  # of the parser: values, and the ends of collections
MAX_SCALAR = 64 * 1024
MAX_EXPANSION = 10  # values after following every alias, per value that is written
MAX_FAULTS = 100
OF_ONE_VALUE = frozenset(  # faults that leave the rest of a file what it is
    {"spec-bare-float", "spec-ambiguous-scalar", "spec-long-integer"}
)


class StopReadingError(Exception):
    """A bound is crossed; what was found so far is all that is said."""


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
        self._offsets: set[int] = set()

    @property
    def is_full(self) -> bool:
        """Tell whether no more are taken."""
        return len(self.found) >= MAX_FAULTS

    def line(self, offset: int) -> int:
        """Return the line of an offset, from 1."""
        return self._text.count("\n", 0, offset) + 1

    def add(self, id: str, offset: int, *values: object) -> None:
        """Add a finding at an offset of the text, unless one is there; values go into its words."""
        offset = min(offset, len(self._text))
        if not self.is_full and offset not in self._offsets:
            self._offsets.add(offset)
            column = offset - self._text.rfind("\n", 0, offset)
            self.found.append(finding(id, Location(self.path, self.line(offset), column), *values))


def finding(id: str, location: Location, *values: object) -> Finding:
    """Make a finding about a file; values go into the words of its id."""
    from gpugen.load.messages import FAULTS

    words = FAULTS[id]
    return Finding(id, words.message.format(*values), words.hint.format(*values), location=location)
