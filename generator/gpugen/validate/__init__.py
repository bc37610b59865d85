"""Stage 2: the shape of a spec by JSON Schema alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from gpugen.model.finding import ROOT, Finding, Pointer
from gpugen.text.spelling import quoted
from gpugen.validate.combined import combined_schema

__all__ = ["WHY", "combined_schema", "validate"]

MAX_FINDINGS = 100
MAX_COUNTED = 1000
MAX_TEXT = 4096  # characters; a pattern may take their square in time

WHY = {
    "schema-unknown-key": "The spec is closed: a key that means nothing would be a silent mistake.",
    "schema-missing-key": "The spec cannot be read without this key.",
    "schema-type": "YAML tells text, numbers, true and false, lists and mappings apart.",
    "schema-null": "An empty value says neither what is wanted nor that the default is.",
    "schema-value": "The value is outside of what the field takes.",
    "schema-size": "The list, mapping or text is empty or too long.",
    "schema-duplicate": "A list of different things names one of them twice.",
    "schema-more": "Only the first hundred findings about the shape of a spec are listed.",
}


def validate(data: dict[str, Any]) -> list[Finding]:
    """Return what is wrong with the shape of a spec; later stages rely on what is not found."""
    from gpugen.validate.engines import native_verdict

    found = list(islice(_long_texts(data, ROOT), MAX_FINDINGS))
    if found:
        return found
    verdict = native_verdict()
    if verdict is not None and verdict(data):
        return []
    found = _worded(data)
    if not found and verdict is not None:
        why, hint = "the spec does not fit its schema", "compare it with 'gpugen schema'"
        found = [Finding("schema-value", why, hint)]
    return found


def _worded(data: dict[str, Any]) -> list[Finding]:
    """Return one finding per slip; after a hundred, one that counts the rest."""
    from gpugen.validate.engines import errors
    from gpugen.validate.joining import Worded, joined
    from gpugen.validate.messages import worded

    faults: dict[tuple[Pointer, str], Worded] = {}  # the first at each place
    remaining = errors(data)
    rest = 0
    for error in remaining:
        for one in worded(error):
            if len(faults) >= MAX_FINDINGS:
                rest = 1  # of an error about many keys, each worded only when it is asked for
                break
            faults.setdefault((one.finding.at, one.missing), one)
        if len(faults) >= MAX_FINDINGS:
            break
    found = joined(list(faults.values()))
    counted = sum(1 for _ in islice(remaining, MAX_COUNTED))
    if rest or counted:
        hint = "correct the first ones; the rest may have the same cause"
        is_more = rest or counted == MAX_COUNTED
        more = f"and {'more than ' * is_more}{max(counted, rest)} more findings"
        found.append(Finding("schema-more", more, hint, found[-1].at))
    return found


def _long_texts(value: Any, at: Pointer) -> Iterator[Finding]:
    """Find texts that are longer than any field takes."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for part, item in entries:
        if isinstance(part, str) and len(part) > MAX_TEXT:
            yield _long(part, at, "key")
        elif isinstance(item, str):
            if len(item) > MAX_TEXT:
                yield _long(item, at / part, "text")
        elif isinstance(item, dict | list):
            yield from _long_texts(item, at / part)


def _long(text: str, at: Pointer, what: str) -> Finding:
    message = f"the {what} {quoted(text)} has {len(text)} characters; {MAX_TEXT} are the most"
    return Finding("schema-size", message, "shorten it", at)
