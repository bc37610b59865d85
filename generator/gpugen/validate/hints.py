"""What to write instead of a value: if possible, the corrected value."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

from gpugen.text.credentials import secret_in
from gpugen.text.spelling import printable, shown
from gpugen.validate.combined import combined_schema
from gpugen.validate.engines import fits
from gpugen.validate.examples import KINDS, example_of, spelled
from gpugen.validate.keys import Act, resolved

PADDING = "delete the spaces or line breaks around it"
_QUOTES = "\u201c\u201d\u201e\u2018\u2019\u201a\u00ab\u00bb`\u00b4"
_TEMPLATE = re.compile(r"\{\{|\{%|\{#|\$\{|\$\(|^\$[A-Za-z_]|^%[A-Za-z_]+%$")
_LONGEST = 200  # characters of a hint with parts of a value
_SERIES = re.compile(r"\[([0-9]{1,4}), \.\.\., ([0-9]{1,4})\]")
_DURATION = re.compile(r"([0-9]{1,6}) ?(s|m|h)[a-z]*", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_UNIT = re.compile(r"([0-9]+) ?(?:W|watts?|MHz|GPUs?|x|%)", re.IGNORECASE)
_RANGE = re.compile(r"[\[{]([0-9a-z]+)(?:\.\.+|-|:)([0-9a-z]+)[\]}]")


def instead(schema: dict[str, Any], value: Any, expected: str = "") -> str:
    """Return what to write instead of a value that the schema does not accept."""
    hint = slip(schema, value)
    if hint or not isinstance(value, str):
        return hint or _example(schema, value, expected)
    if _TEMPLATE.search(value):
        return "specs have no templates: write the value, or move common parts into a layer"
    padded = value.strip()
    if padded != value and fits(schema, padded):
        return PADDING
    better = "" if secret_in(value) else _repaired(schema, value)
    if better:
        return f"write {spelled(better)}"
    odd = next((c for c in value if not c.isascii()), "")
    if odd and fits(schema, value.encode("ascii", "ignore").decode()):
        name = unicodedata.name(odd, "a character without a name")
        return f"retype it: it contains U+{ord(odd):04X} ({name})"
    return _example(schema, value, expected)


def slip(schema: dict[str, Any], value: Any) -> str:
    """Return the hint that the schema itself has for a value, or nothing."""
    return known_slip(schema, value)[0]


def known_slip(schema: dict[str, Any], value: Any) -> tuple[str, Act]:
    """Return the hint that the schema itself has for a value, or nothing, and what it asks for."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    for pattern, hint, *act in schema.get("x-slips", ()):
        if text and (match := re.search(pattern, text)):
            found = printable(_SERIES.sub(_counted, match.expand(hint)[:_LONGEST]))
            return found, Act(*act) if act else Act.WRITE
    return "", Act.WRITE


def _counted(series: re.Match[str]) -> str:
    """Write out the numbers between two, unless they are many."""
    first, last = int(series[1]), int(series[2])
    return f"[{', '.join(map(str, range(first, last + 1)))}]" if last - first < 16 else series[0]


def _example(schema: dict[str, Any], value: Any, expected: str) -> str:
    if "x-hint" in schema:
        return str(schema["x-hint"])
    example = example_of(schema)
    if example and example != spelled(value):
        return f"write for example {example}"
    return f"write {expected}" if expected else ""


def _repaired(schema: dict[str, Any], value: str) -> str:
    """Return the first similar text that the schema accepts, or nothing."""
    return next((text for text in _repairs(value) if text and fits(schema, text)), "")


def _repairs(value: str) -> Iterator[str]:
    """Yield what a text may mean, smallest change first."""
    bare = value.strip().strip(_QUOTES).rstrip(",;").strip()
    yield bare
    yield bare.lower()
    number = re.sub(r"^[vVrR](?=[0-9])", "", bare)
    yield number
    yield re.sub(r"^([0-9]+(?:\.[0-9]+)+)[-+~].*$", r"\1", number)
    yield re.sub(r"^([0-9]+\.[0-9]+)\.[0-9]+(?:[-+~].*)?$", r"\1", number)
    yield re.sub(r"\s+", "-", bare)
    yield re.sub(r"[\s_]+", "-", bare.lower())
    yield re.sub(r"\s", "", bare)
    yield re.sub(r"\s", "", bare).upper()
    path = re.sub(r"^(?:[a-z]+://|\./)", "", bare).rstrip("/")
    yield path
    yield path.lower()
    yield from _durations(bare)
    yield bare.rstrip("/.")
    yield _RANGE.sub(r"[\1:\2]", bare)
    yield re.sub(r"[\s_.]+", "-", bare.lower())


def _durations(value: str) -> Iterator[str]:
    """Yield a duration with its unit as one letter, and in seconds."""
    if found := _DURATION.fullmatch(value):
        number, unit = int(found[1]), found[2].lower()
        yield f"{number}{unit}"
        yield f"{number * _SECONDS[unit]}s"


def conversion(expected: str, schema: dict[str, Any], value: Any) -> str:
    """Return how to write a value of the expected type."""
    hint = slip(schema, value) or _CONVERSIONS.get(expected, _plainly)(schema, value)
    if hint:
        return hint
    example = example_of(schema)
    such = f"write {KINDS[expected]}"
    return f"{such} such as {example}" if example and expected != "boolean" else such


def _plainly(_: dict[str, Any], __: Any) -> str:
    return ""


def _text(schema: dict[str, Any], value: Any) -> str:
    """Quote a value that is not text, if that corrects it; take the name out of a mapping."""
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return f"write only the name: {spelled(value['name'])}"
    if isinstance(value, dict | list) and not example_of(schema):
        return "write text, without nested keys"
    if not isinstance(value, int):
        return ""
    text = json.dumps(value)
    if fits(schema, text):
        return f'quote it: "{text}"'
    if units := [f"{text}{unit}" for unit in _SECONDS if fits(schema, f"{text}{unit}")]:
        return f"write {' or '.join(units[:2])}"
    expected = schema.get("x-expected", "")
    return str(schema.get("x-hint", "")) or (f"write {expected}" if expected else "")


def _integer(schema: dict[str, Any], value: Any) -> str:
    if isinstance(value, str) and value.isascii() and value.lstrip("-").isdecimal():
        return f"write {value} without quotes"
    found = _UNIT.fullmatch(value) if isinstance(value, str) and value.isascii() else None
    return f"write {found[1]}" if found and fits(schema, int(found[1])) else ""


def switch(_: dict[str, Any], value: Any) -> str:
    """Say how a value that is like true or false is written, or nothing."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return f"write {value.lower()} without quotes"
    if isinstance(value, str) and value.lower() in ("yes", "on", "no", "off"):
        return f"write {'true' if value.lower() in ('yes', 'on') else 'false'}"
    return ""


def _array(schema: dict[str, Any], value: Any) -> str:
    items = resolved(schema.get("items", {}), combined_schema())
    if isinstance(value, dict) and (not value or set(value) <= set(items.get("properties", ()))):
        return "begin each entry with '- '"
    if isinstance(value, dict) and "name" in items.get("properties", {}):
        first = shown(str(next(iter(value))))
        return f"begin each entry with '- ' and its name: '- name: {first}'"
    if not isinstance(value, dict) and fits(items, value):
        return f"write a list: [{shown(spelled(value))}]"
    return slip(items, value)


def _object(schema: dict[str, Any], value: Any) -> str:
    if isinstance(value, list) and len(value) == 1 and fits(schema, value[0]):
        return "remove the '- ' or the [ ] around it"
    return ""


_CONVERSIONS: dict[str, Callable[[dict[str, Any], Any], str]] = {
    "string": _text,
    "integer": _integer,
    "boolean": switch,
    "array": _array,
    "object": _object,
}
