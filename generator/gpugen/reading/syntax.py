"""Words for text that the YAML parser cannot follow, at the place where the mistake was made."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from gpugen.reading.faults import Faults
from gpugen.spelling import shown

_Fault: TypeAlias = tuple[Any, ...]  # the arguments of Faults.add

_TAB = re.compile(r"^[ ]*(\t)[ \t]*(?=[^ \t\n#])", re.MULTILINE)
_TEMPLATES = ("{{", "{%", "{#", "<%")
_TEMPLATE_LINE = re.compile(r"[ ]*(?:-[ ]+)?(?:[^\s:#\"']+:[ ]+)?(?=\{\{|\{%|\{#|<%)")
_GLUED = re.compile(r"[ ]*(?:-[ ]+)*([A-Za-z_][A-Za-z0-9_./-]*):(?![\s/])(\S.*)")
_ENTRY = re.compile(r"[ ]*(?:-[ ]+)*[^\s:#]+:[ ]+\S")
_BARE_WORD = re.compile(r"[ ]*(?:-[ ]+)*([A-Za-z_][A-Za-z0-9_./-]*)[ ]*(?:#.*)?$")
_FUSED = re.compile(r"-[ A-Za-z\"']")
_FOUND = re.compile(r"(?:found|got)(?: character)? '(.*?)'")


def tab_in_indentation(text: str, spans: Sequence[tuple[int, int]]) -> int | None:
    """Return the offset of the first tab in an indentation, not counting text within spans."""
    starts = [start for start, _ in spans]
    for match in _TAB.finditer(text) if "\t" in text else ():
        at = match.start(1)
        nearest = bisect_left(starts, at) - 1
        if nearest < 0 or at >= spans[nearest][1]:
            return at
    return None


def template_mark(text: str, offset: int) -> bool:
    """Tell whether a mark of a template language stands at an offset."""
    return text.startswith(_TEMPLATES, offset)


def swallowed_lines(text: str, start: int, end: int) -> Iterator[_Fault]:
    """Find lines of unquoted text that were meant as entries of their own.

    Yields arguments of Faults.add: for keys without a space behind the colon, and for lines that
    the text above swallowed because they are indented deeper.
    """
    if text.find("\n", start, end) < 0:
        return
    at = start
    for number, line in enumerate(text[start:end].split("\n")):
        begin = at + len(line) - len(line.lstrip())
        if match := _GLUED.match(line):
            yield _missing_space(begin, match)
        elif number and _FUSED.match(line.lstrip()):
            yield ("spec-fused-items", begin, text.count("\n", 0, start) + 1)
        at += len(line) + 1


def _missing_space(offset: int, match: re.Match[str]) -> _Fault:
    key, value = match.groups()
    glued, parted = shown(f"{key}:{value}"), shown(f"{key}: {value}")
    return ("spec-missing-space", offset, glued, parted, "colon")


@dataclass(frozen=True, slots=True)
class _Break:
    """Where the parser gave up and in what it was at the time, as offsets; and its token."""

    text: str
    problem: str
    at: int
    context: str
    context_at: int
    last: int  # where the last thing begins that was understood

    @property
    def what(self) -> str:
        """What stands there, as the parser calls it."""
        match = _FOUND.search(self.problem)
        return match.group(1) if match else ""

    def line_start(self, offset: int) -> int:
        """Return where the line of an offset begins."""
        return self.text.rfind("\n", 0, offset) + 1

    def line(self, offset: int) -> str:
        """Return the line of an offset."""
        end = self.text.find("\n", offset)
        return self.text[self.line_start(offset) : end if end >= 0 else len(self.text)]

    def line_above(self, offset: int) -> int | None:
        """Return where the line above begins that is neither blank nor a comment."""
        start = self.line_start(offset)
        while start > 0:
            start = self.line_start(start - 1)
            if self.line(start).strip() and not self.line(start).lstrip().startswith("#"):
                return start
        return None


def explain(error: Exception, offset: int, text: str, faults: Faults) -> None:
    """Add the finding for an exception of the parser; offset: where it was last seen well."""
    problem_mark = getattr(error, "problem_mark", None)
    context_mark = getattr(error, "context_mark", None)
    mark = problem_mark or context_mark
    at = mark.index if mark is not None else offset
    where = _Break(
        text,
        str(getattr(error, "problem", None) or ""),
        at,
        str(getattr(error, "context", None) or ""),
        context_mark.index if context_mark is not None else at,
        offset,
    )
    faults.add(*(_general(where) or _special(where) or ("spec-syntax", where.at)))


def _general(where: _Break) -> _Fault | None:
    """Find causes that show as many different errors: tabs, templates."""
    tab = tab_in_indentation(where.text, ())
    if tab is not None and tab <= where.at:
        return ("spec-tab", tab)
    for offset in (where.context_at, where.at):
        if match := _TEMPLATE_LINE.match(where.line(offset)):
            return ("spec-template", where.line_start(offset) + match.end())
    return None


def _special(where: _Break) -> _Fault | None:
    for part, explainer in _EXPLAINERS:
        if part in where.problem or part in where.context:
            return explainer(where)
    return None


def _value_not_allowed(where: _Break) -> _Fault:
    """A colon where none can stand: in text, or because a line above is no key."""
    start = where.line_start(where.at)
    if _ENTRY.match(where.text[start : where.at]):
        return ("spec-colon-in-text", where.at)
    first = start + len(where.line(start)) - len(where.line(start).lstrip())
    above = where.line_above(where.at)
    if above is None:
        return ("spec-syntax", where.at)
    return _glued_or_bare(where, above) or (
        "spec-indentation",
        first,
        "the line is indented deeper than the one above, which has a value already",
    )


def _glued_or_bare(where: _Break, start: int) -> _Fault | None:
    """Explain a line that would be an entry with a space, or with a colon."""
    line = where.line(start)
    if match := _GLUED.match(line):
        return _missing_space(start + match.start(1), match)
    if match := _BARE_WORD.match(line):
        return ("spec-missing-colon", start + match.start(1), shown(match.group(1)))
    return None


def _no_colon(where: _Break) -> _Fault:
    """A line that had to be an entry has no colon."""
    at = where.context_at
    if where.text[at : at + 1] in ('"', "'"):
        return ("spec-unclosed-quote", at)
    start = where.line_start(at)
    line = where.line(at).strip()
    return _glued_or_bare(where, start) or ("spec-missing-colon", at, shown(line))


def _not_closed(where: _Break) -> _Fault:
    """An entry of a collection in brackets is followed by neither comma nor bracket."""
    opener = where.text[where.context_at : where.context_at + 1]
    line, start = where.line(where.at), where.line_start(where.context_at)
    indent = len(line) - len(line.lstrip())
    opener_line = where.line(start)
    is_outside = where.at >= len(where.text) or (
        start != where.line_start(where.at)
        and indent <= len(opener_line) - len(opener_line.lstrip())
    )
    if is_outside or where.what in ("<stream end>", "<document start>", "<document end>"):
        return ("spec-unclosed-bracket", where.context_at, opener)
    return ("spec-missing-comma", where.at, "]" if opener == "[" else "}")


def _block_end(where: _Break) -> _Fault:
    """A line fits neither the collection that is open nor one around it."""
    found = where.what
    if found in ("]", "}", ","):
        return ("spec-stray-bracket", where.at, found)
    if found in ("<scalar>", "[", "{"):
        is_above = where.line_start(where.last) < where.line_start(where.at)
        if is_above and where.text[where.last] in "\"'":
            return ("spec-unclosed-quote", where.last)
        return ("spec-text-after-quote", where.at)
    if found == "-":
        why = "a list item stands where a key is wanted"
    elif found == "?":
        why = "a key stands where a list item ('- ') is wanted"
    else:
        why = "the line fits the indentation of no line above"
    return ("spec-indentation", where.at, why)


def _bad_start(where: _Break) -> _Fault:
    character = where.text[where.at : where.at + 1]
    if character == "\t":
        return ("spec-tab", where.at)
    return ("spec-quote-needed", where.at, shown(character))


def _bad_start_of_context(where: _Break) -> _Fault:
    return ("spec-quote-needed", where.context_at, where.text[where.context_at][:1])


def _dash(where: _Break) -> _Fault:
    return ("spec-indentation", where.at, "a list begins in the line of its key")


def _no_content(where: _Break) -> _Fault:
    if where.what in ("]", "}", ","):
        return ("spec-stray-bracket", where.at, where.what)
    return ("spec-syntax", where.at)


_EXPLAINERS: tuple[tuple[str, Callable[[_Break], _Fault]], ...] = (
    ("mapping values are not allowed", _value_not_allowed),
    ("could not find expected ':'", _no_colon),
    ("unexpected end of stream", lambda where: ("spec-unclosed-quote", where.context_at)),
    ("unexpected document separator", lambda where: ("spec-unclosed-quote", where.context_at)),
    ("escape", lambda where: ("spec-escape", where.at)),
    ("tag", lambda where: ("spec-tag", where.context_at, shown(where.line(where.at).strip()))),
    ("expected ',' or", _not_closed),
    ("expected <block end>", _block_end),
    ("cannot start any token", _bad_start),
    ("block scalar", _bad_start_of_context),
    ("scanning an", _bad_start_of_context),
    ("sequence entries are not allowed", _dash),
    ("expected the node content", _no_content),
)
