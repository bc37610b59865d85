"""Validates a repository's own catalogue by the schema of rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import islice
from typing import Any, NamedTuple

from gpugen import assets
from gpugen.model.finding import MOST_OF_A_KIND

_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
}


_COMPARED, _MOST_KNOWN = 100, 500  # characters of a name, and names, that are compared with one


class Misfit(NamedTuple):
    """A value that the schema refuses: kind, where, whether its key is meant, words."""

    kind: str
    path: tuple[str | int, ...]
    at_key: bool
    values: tuple[str, ...]


@cache
def schema() -> dict[str, Any]:
    """Read the schema of a repository's own catalogue."""
    content: dict[str, Any] = json.loads((assets.schemas() / "catalog.schema.json").read_bytes())
    return content


def misfits(data: Mapping[str, Any], rules: Mapping[str, Any]) -> list[Misfit]:
    """List what a schema refuses of a file; natively first, where that is installed."""
    try:
        native: Any = import_module("jsonschema_rs")
    except ImportError:
        return _explained(data, rules)
    return [] if native.validator_for(rules).is_valid(data) else _explained(data, rules)


def _explained(data: Mapping[str, Any], rules: Mapping[str, Any]) -> list[Misfit]:
    from jsonschema import Draft202012Validator

    found: dict[Misfit, None] = {}  # an error per absent key names all that are absent
    for error in islice(Draft202012Validator(rules).iter_errors(data), 2 * MOST_OF_A_KIND):
        for misfit in _misfits(error):
            found[misfit] = None
            if len(found) > MOST_OF_A_KIND:
                return list(found)
    return list(found)


def _misfits(error: Any) -> Iterator[Misfit]:
    path = tuple(error.absolute_path)
    if "propertyNames" in error.absolute_schema_path:
        words = _words(error, str(error.schema.get("x-expected", "a name of this kind")))
        yield Misfit("value", (*path, error.instance), True, words)
    elif error.validator == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        for key in error.instance:
            if key not in known:
                yield Misfit("unknown-key", (*path, key), True, (key, _meant(key, known)))
    elif error.validator == "required":
        yield from _missing(error, path)
    else:
        yield Misfit("value", path, False, _words(error, _expected(error)))


def _missing(error: Any, path: tuple[str | int, ...]) -> Iterator[Misfit]:
    rules = error.schema.get("properties", {})
    for key in error.validator_value:
        if key not in error.instance:
            fault = "missing-source" if key == "source" else "missing-key"
            about = rules.get(key, {}).get("description", "see docs/specs/catalog.md")
            yield Misfit(fault, path, True, (key, about))


def _words(error: Any, expected: str) -> tuple[str, str, str]:
    hint = f"write {expected}"
    is_number = isinstance(error.instance, int) and not isinstance(error.instance, bool)
    if error.validator == "type" and error.validator_value == "string" and is_number:
        hint = f'quote it: "{error.instance}"'
    return _spell(error.instance), expected, hint


def close_to(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most like one; empty: none is."""
    from difflib import get_close_matches

    few = [word[:_COMPARED] for word in islice(known, _MOST_KNOWN)]
    return next(iter(get_close_matches(name[:_COMPARED], few, n=1, cutoff=0.5)), "")


def _meant(key: str, known: list[str]) -> str:
    close = close_to(key, known)
    return f"did you mean {close!r}?" if close else f"keys here are {', '.join(known)}"


def _spell(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _expected(error: Any) -> str:
    """Say what a value must be, in the schema's own words where it has some."""
    rule: Mapping[str, Any] = error.schema
    if "x-expected" in rule:
        return str(rule["x-expected"])
    if "const" in rule:
        return _spell(rule["const"])
    if "enum" in rule:
        return f"one of {', '.join(map(str, rule['enum']))}"
    if error.validator == "uniqueItems":
        return "a list without repetition"
    bounds = [f"{words} {rule[key]}" for key, words in _BOUNDS.items() if key in rule]
    return " ".join([_TYPES.get(rule.get("type", ""), "a value"), *bounds])


_BOUNDS = {
    "minimum": "not below",
    "maximum": "not above",
    "minLength": "of a length not below",
    "maxLength": "of a length not above",
    "minItems": "of a length not below",
    "maxItems": "of a length not above",
    "minProperties": "of a size not below",
    "maxProperties": "of a size not above",
}
