"""Words for text that the YAML parser cannot follow, at the place where the mistake was made."""

from __future__ import annotations

import re
from collections.abc import Callable

from gpugen.load.breaks import Break
from gpugen.load.slips import GLUED, Fault, missing_space, tab_in_indentation
from gpugen.text.spelling import shown

_TEMPLATE_LINE = re.compile(r"[ ]*(?:-[ ]+)?(?:[^\s:#\"']+:[ ]+)?(?=\{\{|\{%|\{#|<%)")
_ENTRY = re.compile(r"[ ]*(?:-[ ]+)*[^\s:#]+:[ ]+\S")
_BARE_WORD = re.compile(r"[ ]*(?:-[ ]+)*([A-Za-z_][A-Za-z0-9_./-]*)[ ]*(?:#.*)?$")
_COLONLESS = re.compile(r"[ ]*(?:-[ ]+)*([A-Za-z_][A-Za-z0-9_./-]*)[ ]+[\[{]")
_NO_COLON = re.compile(r"[ ]*(?:-[ ]+)*([A-Za-z_][A-Za-z0-9_-]*)(?:[ ]*[=\uff1a]|[ ])[^:]*$")
_DASHGLUED = re.compile(r"[ ]*(?=-[A-Za-z_\"'])")
_NAME = re.compile(r"\*([^\s,\[\]{}]+)")
_ESCAPED = re.compile(r"\\U[0-9A-Fa-f]{8}")
_FOUND = re.compile(r"(?:found|got)(?: character)? \(?'(.*?)'")
_MISFIT = "the line's indentation matches no line above"
_MISFITS = {
    "-": "found a list item, expected a key",
    "?": "found a key, expected a list item ('- ')",
}


def explain(error: Exception, offset: int, text: str) -> Fault:
    """Return the fault behind an exception of the parser; offset: where it was last seen well."""
    problem_mark = getattr(error, "problem_mark", None)
    context_mark = getattr(error, "context_mark", None)
    mark = problem_mark or context_mark
    at = mark.index if mark is not None else offset
    where = Break(
        text,
        str(getattr(error, "problem", None) or ""),
        at,
        str(getattr(error, "context", None) or ""),
        context_mark.index if context_mark is not None else at,
        offset,
    )
    return _general(where) or _special(where) or _unknown(where)


def _unknown(where: Break) -> Fault:
    said = f": {shown(where.problem)}" if where.problem else ""
    return ("spec-syntax", where.at, said)


def _general(where: Break) -> Fault | None:
    """Find causes that show as many different errors: tabs, templates, impossible characters."""
    tab = tab_in_indentation(where.text)
    if tab is not None and tab <= where.at:
        return ("spec-tab", tab)
    if not where.problem and (match := _ESCAPED.search(where.text, where.last)):
        return ("spec-escape", match.start())
    for offset in (where.context_at, where.at):
        if match := _TEMPLATE_LINE.match(where.line(offset)):
            return ("spec-template", where.line_start(offset) + match.end())
    return None


def _special(where: Break) -> Fault | None:
    for part, explainer in _EXPLAINERS:
        if part in where.problem or part in where.context:
            return explainer(where)
    return None


def _value_not_allowed(where: Break) -> Fault:
    """A colon where none can be: in text, or because a line above is no key."""
    start = where.line_start(where.at)
    if _ENTRY.match(where.text[start : where.at]):
        return ("spec-colon-in-text", where.at)
    first = start + len(where.line(start)) - len(where.line(start).lstrip())
    above = where.line_above(where.at)
    if above is None:
        return _unknown(where)
    fault = _glued_or_bare(where, above)
    match = _NO_COLON.match(where.line(above))
    if fault is None and match and where.indent(above) == where.indent(start):
        fault = ("spec-missing-colon", above + match.start(1), shown(match.group(1)))
    return fault or (
        "spec-indentation",
        first,
        "the line is indented deeper than the one above, which has a value already",
    )


def _glued_or_bare(where: Break, start: int) -> Fault | None:
    """Explain a line that would be an entry with a space, or with a colon."""
    line = where.line(start)
    if match := GLUED.match(line):
        return missing_space(start + match.start(1), match)
    if match := _BARE_WORD.match(line):
        return ("spec-missing-colon", start + match.start(1), shown(match.group(1)))
    return None


def _no_colon(where: Break) -> Fault:
    """A line that had to be an entry has no colon."""
    at = where.context_at
    start = where.line_start(at)
    line = where.line(at).strip()
    if _is_among_items(where, start):
        return ("spec-missing-dash", start + where.indent(at), shown(line))
    if where.text[at : at + 1] in ('"', "'"):
        return ("spec-unclosed-quote", at)
    return _glued_or_bare(where, start) or ("spec-missing-colon", at, shown(line))


def _is_among_items(where: Break, start: int) -> bool:
    """Tell whether a line is under an item of a list, with the item's indentation."""
    above = where.line_above(start)
    while above is not None and where.indent(above) > where.indent(start):
        above = where.line_above(above)
    if above is None or where.indent(above) != where.indent(start):
        return False
    return where.line(above).lstrip().startswith("- ")


def _not_closed(where: Break) -> Fault:
    """An entry of a collection in brackets is followed by neither comma nor bracket."""
    opener = where.text[where.context_at : where.context_at + 1]
    start = where.line_start(where.context_at)
    if quote := _unclosed_quote_above(where):
        return quote
    if where.what == "?":
        return ("spec-question-mark", where.at)
    is_outside = where.at >= len(where.text) or (
        start != where.line_start(where.at) and where.indent(where.at) <= where.indent(start)
    )
    if is_outside or where.what in ("<stream end>", "<document start>", "<document end>"):
        return ("spec-unclosed-bracket", where.context_at, opener)
    return ("spec-missing-comma", where.at, "]" if opener == "[" else "}")


def _unclosed_quote_above(where: Break) -> Fault | None:
    """Find a quoted text that began in a line above and ended in this one, by another's quote."""
    quote = where.text[where.last : where.last + 1]
    end = where.text.find(quote, where.last + 1)
    if quote in ('"', "'") and 0 <= end < where.at and "\n" in where.text[where.last : end]:
        return ("spec-unclosed-quote", where.last)
    return None


def _block_end(where: Break) -> Fault:
    """A line fits neither the collection that is open nor one around it."""
    found = where.what
    line, start = where.line(where.at), where.line_start(where.at)
    if match := _COLONLESS.match(line):
        return ("spec-missing-colon", start + match.start(1), shown(match.group(1)))
    if match := _DASHGLUED.match(line):
        glued = shown(line.strip())
        return ("spec-missing-space", start + match.end(), glued, f"- {glued[1:]}", "dash")
    if fault := _dash_missing_above(where):
        return fault
    if found == ":":
        return ("spec-missing-key-text", where.at)
    if found in ("]", "}", ","):
        return ("spec-stray-bracket", where.at, found)
    if found in ("<scalar>", "[", "{"):
        return _unclosed_quote_above(where) or ("spec-text-after-quote", where.at)
    return ("spec-indentation", where.at, _MISFITS.get(found, _MISFIT))


def _dash_missing_above(where: Break) -> Fault | None:
    """Find text above an item that would be an item too, had it a dash."""
    above = where.line_above(where.at)
    if above is None or not where.line(where.at).lstrip().startswith("- "):
        return None
    text = where.line(above).strip()
    is_value = not text.startswith("-") and not text.endswith(":")
    if is_value and where.indent(above) == where.indent(where.at):
        return ("spec-missing-dash", above + where.indent(above), shown(text))
    return None


def _bad_start(where: Break) -> Fault:
    character = where.text[where.at : where.at + 1]
    if character == "\t":
        return ("spec-tab", where.at)
    return ("spec-quote-needed", where.at, shown(character))


def _bad_name(where: Break) -> Fault:
    """An asterisk or ampersand that no name follows, or one that the parser does not know."""
    match = _NAME.match(where.text, where.context_at)
    if match:
        return ("spec-unknown-alias", where.context_at, shown(match.group(1)))
    return _bad_start_of_context(where)


def _bad_start_of_context(where: Break) -> Fault:
    return ("spec-quote-needed", where.context_at, where.text[where.context_at][:1])


def _dash(where: Break) -> Fault:
    return ("spec-indentation", where.at, "a list begins in the line of its key")


def _no_content(where: Break) -> Fault:
    if where.what in ("]", "}", ","):
        return ("spec-stray-bracket", where.at, where.what)
    opener = max(where.text.rfind(bracket, 0, where.at) for bracket in "[{")
    if opener >= 0 and (where.what in ("-", "<stream end>") or where.at >= len(where.text)):
        return ("spec-unclosed-bracket", opener, where.text[opener])
    return _unknown(where)


def _after_the_end(where: Break) -> Fault:
    """Something follows what looked like the whole document."""
    above = where.line_above(where.at)
    if above is not None and where.text.startswith("...", above):
        return ("spec-several-documents", where.at)
    if where.what in ("<block mapping start>", "<block sequence start>"):
        return ("spec-indentation", where.at, "the line is indented less than the first one")
    return ("spec-text-after-quote", where.at)


_EXPLAINERS: tuple[tuple[str, Callable[[Break], Fault]], ...] = (
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
    ("scanning an", _bad_name),
    ("sequence entries are not allowed", _dash),
    ("node content", _no_content),
    ("expected '<document start>'", _after_the_end),
)
