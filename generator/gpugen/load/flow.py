"""Reads collections in brackets, on one line or several, as far as they are plain."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from gpugen.load.faults import MAX_DEPTH, MAX_SCALAR
from gpugen.load.marks import Notes
from gpugen.load.scalars import DoubtfulError, resolve

# Groups repeat greedily within bounds: Python before 3.11.5 matches possessive groups wrongly.
_GAP = r"[ \n]*+(?:(?<=[ \n])\#[^\n]*+[ \n]*+){0,1000}"
_WORD = r"[^\s:\#,\[\]{}?]"
_TEXT = (
    rf"(?:[A-Za-z0-9_/]|\.\.?/){_WORD}*+"
    + rf"(?:(?::(?=[A-Za-z0-9/])|\ ++(?={_WORD})){_WORD}*+){{0,{MAX_SCALAR}}}"
)
_SCALAR = r'(?:"([^"\\\n\t]*+)"|' + r"'([^'\n\t]*+)'|(" + _TEXT + "))"
_KEY = r'(?:([A-Za-z0-9_][A-Za-z0-9_./+-]{0,300}+):(?=\ )|"([^"\\\s]{1,300}+)":)\ *+'
_ITEM = re.compile(_GAP + r"(?:(\])|([\[{])|" + _SCALAR + ")")
_ENTRY = re.compile(_GAP + r"(?:(\})|" + _KEY + r"(?:([\[{])|" + _SCALAR + "))")
_NEXT = re.compile(_GAP + r"([,\]}])")


class NotPlainError(Exception):
    """The text leaves the plain grammar near an offset, for a reason if the scalar has one."""

    def __init__(self, offset: int, doubt: DoubtfulError | None = None) -> None:
        super().__init__(offset)
        self.offset = offset
        self.doubt = doubt


def bare_value(text: str, offset: int, notes: Notes) -> str | int | bool | None:
    """Return what an unquoted scalar means; declines or notes the doubtful, declines the long."""
    if len(text) > MAX_SCALAR:
        bounded(text, offset)
    try:
        return resolve(text)
    except DoubtfulError as doubt:
        if notes.doubts is None:
            raise NotPlainError(offset, doubt) from None
        notes.doubts.append((offset, doubt))
        return text


def bounded(text: str, offset: int) -> str:
    """Return the text of a scalar; declines the very long."""
    if len(text) > MAX_SCALAR:
        doubt = DoubtfulError("spec-long-scalar", str(len(text)), str(MAX_SCALAR))
        raise NotPlainError(offset, doubt)
    return text


def checked_key(key: str, is_quoted: bool, offset: int) -> str:
    """Return the key; declines one that is not text."""
    if not is_quoted and not _is_text(key):
        raise NotPlainError(offset)
    return key


@lru_cache(maxsize=4096)
def _is_text(key: str) -> bool:
    try:
        return isinstance(resolve(key), str)
    except DoubtfulError:
        return False


def read_flow(text: str, position: int, depth: int, notes: Notes) -> tuple[Any, int]:
    """Return the collection whose opening bracket stands before ``position``, and its end.

    depth: collections that are open around it. Raises NotPlainError.
    """
    if depth >= MAX_DEPTH:
        raise NotPlainError(position - 1, DoubtfulError("spec-depth", str(MAX_DEPTH)))
    if text[position - 1] == "[":
        return _sequence(text, position, depth + 1, notes)
    return _mapping(text, position, depth + 1, notes)


def _sequence(text: str, position: int, depth: int, notes: Notes) -> tuple[list[Any], int]:
    items: list[Any] = []
    while True:
        found = _ITEM.match(text, position)
        if found is None:
            raise NotPlainError(position)
        closer, opener, double, single, word = found.groups()
        position = found.end()
        if closer is not None:
            return items, position
        value, position = _value(text, found, (opener, double, single, word), depth, notes)
        if notes.marks is not None:
            start = _start(found, 2)
            notes.marks[id(items), len(items)] = (start, start)
        items.append(value)
        is_closed, position = _next(text, position, "]")
        if is_closed:
            return items, position


def _mapping(text: str, position: int, depth: int, notes: Notes) -> tuple[dict[str, Any], int]:
    entries: dict[str, Any] = {}
    while True:
        found = _ENTRY.match(text, position)
        if found is None:
            raise NotPlainError(position)
        closer, bare, quoted, opener, double, single, word = found.groups()
        position = found.end()
        if closer is not None:
            return entries, position
        key = checked_key(bare or quoted, quoted is not None, position)
        if key in entries:
            raise NotPlainError(position)
        value, position = _value(text, found, (opener, double, single, word), depth, notes)
        if notes.marks is not None:
            start = found.start(2) if quoted is None else found.start(3) - 1
            notes.marks[id(entries), key] = (start, _start(found, 4))
        entries[key] = value
        is_closed, position = _next(text, position, "}")
        if is_closed:
            return entries, position


def _value(
    text: str,
    found: re.Match[str],
    groups: tuple[str | None, str | None, str | None, str | None],
    depth: int,
    notes: Notes,
) -> tuple[Any, int]:
    """Return a value and where it ends."""
    opener, double, single, word = groups
    position = found.end()
    if opener is not None:
        return read_flow(text, position, depth, notes)
    if word is not None:
        return bare_value(word, position - len(word), notes), position
    quoted = single if double is None else double
    assert quoted is not None
    return bounded(quoted, position), position


def _start(found: re.Match[str], first: int) -> int:
    """Return where the value stands; its groups are opener, double, single, word."""
    opener, double, single, word = (found.start(group) for group in range(first, first + 4))
    return max(opener, double - 1, single - 1, word)


def _next(text: str, position: int, closer: str) -> tuple[bool, int]:
    """Tell whether the collection ends here rather than going on behind a comma."""
    found = _NEXT.match(text, position)
    if found is None or found.group(1) not in (",", closer):
        raise NotPlainError(position)
    return found.group(1) == closer, found.end()
