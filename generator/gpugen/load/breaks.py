"""The place where the YAML parser gave up, and the lines around it."""

from __future__ import annotations

import re
from typing import NamedTuple

_FOUND = re.compile(r"(?:found|got)(?: character)? \(?'(.*?)'")


class Break(NamedTuple):
    """Where the parser gave up and in what it was at the time, as offsets; and its token."""

    text: str
    problem: str
    at: int
    context: str
    context_at: int
    last: int  # where the last thing begins that was understood

    @property
    def what(self) -> str:
        """What is there, as the parser calls it."""
        match = _FOUND.search(self.problem)
        return match.group(1) if match else ""

    def line_start(self, offset: int) -> int:
        """Return where the line of an offset begins."""
        return self.text.rfind("\n", 0, offset) + 1

    def line(self, offset: int) -> str:
        """Return the line of an offset."""
        end = self.text.find("\n", offset)
        return self.text[self.line_start(offset) : end if end >= 0 else len(self.text)]

    def indent(self, offset: int) -> int:
        """Return how far the line of an offset is indented."""
        line = self.line(offset)
        return len(line) - len(line.lstrip(" "))

    def line_above(self, offset: int) -> int | None:
        """Return where the line above begins that is neither blank nor a comment."""
        start = self.line_start(offset)
        while start > 0:
            start = self.line_start(start - 1)
            if self.line(start).strip() and not self.line(start).lstrip().startswith("#"):
                return start
        return None
