"""Stage 2: validates the structure of a spec against its JSON Schema."""

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
    "schema-unknown-key": (
        "Unknown keys are errors: otherwise a misspelt key would be ignored silently."
    ),
    "schema-missing-key": "This key is required.",
    "schema-type": (
        "The value has the wrong type: text, number, boolean, list and mapping are"
        " different types in YAML."
    ),
    "schema-null": (
        "An empty value (null) is ambiguous: write a value, or remove the key to get the default."
    ),
    "schema-value": "The value is not one that the field accepts.",
    "schema-size": "The list, mapping or text is empty or too long.",
    "schema-duplicate": "A list contains a duplicate.",
    "schema-more": "Only the first hundred schema findings of a spec are listed.",
}


def validate(data: dict[str, Any]) -> list[Finding]:
    """Return what is wrong with the structure of a spec; later stages rely on it."""
    from gpugen.validate.engines import native_verdict

    found = list(islice(_long_texts(data, ROOT), MAX_FINDINGS))
    if found:
        return found
    verdict = native_verdict()
    if verdict is not None and verdict(data):
        return []
    found = _worded(data)
    if not found and verdict is not None:
        why, hint = "the spec does not match its schema", "compare it with 'gpugen schema'"
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
        hint = "correct the first ones; the others may have the same cause"
        is_more = rest or counted == MAX_COUNTED
        more = f"and {'more than ' * is_more}{max(counted, rest)} more findings"
        found.append(Finding("schema-more", more, hint, found[-1].at))
    return found


def _long_texts(value: Any, at: Pointer) -> Iterator[Finding]:
    """Find texts that are longer than any field accepts."""
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
    message = (
        f"the {what} {quoted(text)} has {len(text)} characters; at most {MAX_TEXT} are allowed"
    )
    return Finding("schema-size", message, "shorten it", at)
