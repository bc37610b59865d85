"""What PyYAML's two parsers, or readers of YAML 1.1 and 1.2, take apart differently: refused.

Only texts with an odd character are looked at; for them the composer keeps where scalars stand.
What lies between scalars is structure: indicators, spaces and comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from gpugen.text.spelling import shown

Doubt: TypeAlias = tuple[Any, ...]  # the arguments of Faults.add

_STRUCTURE = re.compile(r"#[^\n]*|[\[\]{}?\t]")
_ANCHOR = re.compile(r"&[\w-]+(?:[ \n]|(?<=[ \n])#[^\n]*)+")
_HEADER = re.compile(r"[|>][-+0-9]*(?: +#[^\n]*| *)(?:\n|\Z)")
_BLANK = re.compile(r"\n* +(?=\n)")
_TABBED = re.compile(r"\n* *(?=\t)")
_COLON = re.compile(r"[ \n]*:[,\[\]{}]")


def doubts(text: str, spans: Sequence[tuple[int, int, str]]) -> Iterator[Doubt]:
    """Yield what readers take apart differently, as arguments of Faults.add.

    spans: where scalars begin and end, and how they are quoted.
    """
    level = at = 0
    for start, end, style in (*spans, (len(text), len(text), '"')):
        for found in _STRUCTURE.finditer(text, at, start):
            mark = found.group()
            level += (mark in ("[", "{")) - (mark in ("]", "}"))
            if mark == "\t":
                yield ("spec-tab", found.start())
            elif mark == "?" and level:
                yield ("spec-question-mark", found.start())
        anchor = _ANCHOR.match(text, start, end)
        begin = anchor.end() if anchor else start
        if style in ("|", ">"):
            yield from _block(text, begin)
        elif not style:
            yield from _plain(text, begin, end, is_in_brackets=level > 0)
        at = end


def _block(text: str, start: int) -> Iterator[Doubt]:
    header = _HEADER.match(text, start)
    if header is None:
        yield ("spec-quote-needed", start, text[start])
    elif blank := _BLANK.match(text, header.end()):
        yield ("spec-blank-line", blank.end())
    elif tab := _TABBED.match(text, header.end()):
        yield ("spec-tab", tab.end())


def _plain(text: str, start: int, end: int, *, is_in_brackets: bool) -> Iterator[Doubt]:
    tab = text.find("\t", start, end)
    if tab >= 0:
        yield ("spec-tab", tab)
    if not is_in_brackets:
        return
    question = text.find("?", start, end)
    if question >= 0:
        yield ("spec-question-mark", question)
    if colon := _COLON.match(text, end):
        word, mark = text[start:end], text[colon.end() - 1]
        yield (
            "spec-missing-space",
            start,
            shown(f"{word}:{mark}"),
            shown(f"{word}: {mark}"),
            "colon",
        )
