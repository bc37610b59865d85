"""Slips of the pen that the text itself shows, before or after a parser has looked at it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from gpugen.text.spelling import shown

Fault: TypeAlias = tuple[Any, ...]  # the arguments of Faults.add

_TAB = re.compile(r"^[ ]*(\t)[ \t]*(?=[^ \t\n#])", re.MULTILINE)
GLUED = re.compile(r"[ ]*(?:-[ ]+)*([A-Za-z_][A-Za-z0-9_./-]*):(?![\s/])(\S.*)")
_FUSED = re.compile(r"-[ A-Za-z\"']")


def tab_in_indentation(text: str) -> int | None:
    """Return the offset of the first tab in an indentation."""
    match = _TAB.search(text) if "\t" in text else None
    return match.start(1) if match else None


def swallowed_lines(text: str, start: int, end: int) -> Iterator[Fault]:
    """Find lines of unquoted text that were meant as entries of their own.

    Yields arguments of Faults.add: for keys without a space behind the colon, and for lines that
    the text above swallowed because they are indented deeper.
    """
    if text.find("\n", start, end) < 0:
        return
    at = start
    for number, line in enumerate(text[start:end].split("\n")):
        begin = at + len(line) - len(line.lstrip())
        if match := GLUED.match(line):
            yield missing_space(begin, match)
        elif number and _FUSED.match(line.lstrip()):
            column = start - text.rfind("\n", 0, start) - 1
            if text[start - column : start].isspace() and begin - at == column:
                yield ("spec-missing-dash", start, shown(text[start : text.find("\n", start)]))
                return
            yield ("spec-fused-items", begin, text.count("\n", 0, start) + 1)
        at += len(line) + 1


def missing_space(offset: int, match: re.Match[str]) -> Fault:
    key, value = match.groups()
    glued, parted = shown(f"{key}:{value}"), shown(f"{key}: {value}")
    return ("spec-missing-space", offset, glued, parted, "colon")
