"""What PyYAML's two parsers, or readers of YAML 1.1 and 1.2, take apart differently: refused.

Only texts with an odd character are looked at; for them the composer keeps the places of scalars.
What lies between scalars is structure: indicators, spaces and comments.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from gpugen.text.spelling import shown

Doubt: TypeAlias = tuple[Any, ...]  # the arguments of Faults.add

_STRUCTURE = re.compile(r"#[^\n]*|[\[\]{}?\t]")
_ANCHOR = re.compile(r"&[\w-]+(?:[ \t\n]+(?:#[^\n]*)?){1,1000}")
_HEADER = re.compile(r"[|>][-+0-9]*(?: +#[^\n]*| *)(?:\n|\Z)")
_BLANK = re.compile(r"\n* +(?=\n)")
_TABBED = re.compile(r"\n* *(?=\t)")
_COLON = re.compile(r":[,\[\]{}]")
_MARK = re.compile(r"[\t?]")
_NAMES = {"\t": "spec-tab", "?": "spec-question-mark"}


def doubts(text: str, spans: Sequence[tuple[int, int, str]]) -> Iterator[Doubt]:
    """Yield what readers take apart differently, as arguments of Faults.add.

    spans: where scalars begin and end, and how they are quoted; in order.
    """
    if "\t" in text or "?" in text:
        yield from _marks(text, spans)
    ends = [end for _, end, _ in spans]
    for colon in _COLON.finditer(text):
        before = bisect_right(ends, colon.start()) - 1
        if before >= 0 and not spans[before][2]:
            yield from _glued(text, *spans[before][:2], colon.start())
    for start, end, style in spans:
        if style in ("|", ">"):
            yield from _block(text, _after_anchor(text, start, end))


def _marks(text: str, spans: Sequence[tuple[int, int, str]]) -> Iterator[Doubt]:
    """Find tabs, and question marks in brackets, in unquoted text and between scalars."""
    level = at = 0
    for start, end, style in (*spans, (len(text), len(text), '"')):
        begin = _after_anchor(text, start, end) if style else end
        for found in _STRUCTURE.finditer(text, at, start):
            mark = found.group()
            level += (mark in ("[", "{")) - (mark in ("]", "}"))
            if mark == "\t" or (mark == "?" and level):
                yield _NAMES[mark], found.start()
        for found in _MARK.finditer(text, start, begin):
            if found.group() == "\t" or level:
                yield _NAMES[found.group()], found.start()
        at = end


def _after_anchor(text: str, start: int, end: int) -> int:
    anchor = _ANCHOR.match(text, start, end)
    return anchor.end() if anchor else start


def _glued(text: str, start: int, end: int, colon: int) -> Iterator[Doubt]:
    """Find unquoted text in brackets that a colon without a space behind it makes a key."""
    if not text[end:colon].strip(" \n"):
        word, mark = text[_after_anchor(text, start, end) : end], text[colon + 1]
        yield (
            "spec-missing-space",
            start,
            shown(f"{word}:{mark}"),
            shown(f"{word}: {mark}"),
            "colon",
        )


def _block(text: str, start: int) -> Iterator[Doubt]:
    header = _HEADER.match(text, start)
    if header is None:
        yield ("spec-quote-needed", start, text[start])
    elif blank := _BLANK.match(text, header.end()):
        yield ("spec-blank-line", blank.end())
    elif tab := _TABBED.match(text, header.end()):
        yield ("spec-tab", tab.end())
