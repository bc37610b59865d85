"""Values that a part of the schema takes, as different from one another as it lets them be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias
from zlib import crc32

from gpugen.validate.combined import combined_schema
from gpugen.validate.engines import fits
from gpugen.validate.keys import ITEMS, Place, resolved

Names: TypeAlias = Callable[[Place], Sequence[str]]  # what the catalogue has for a place

_WORDS = ("a", "13.0", "12.9", "1.20.0", "nvidia.com/gpu", "/a", "https://mirror.example")


def value_of(schema: dict[str, Any], place: Place, turn: int, names: Names) -> Any:
    """Return one of the values that a schema takes; another one in most turns."""
    schema = resolved(schema, combined_schema())
    if known := names(place):
        return spread(known, turn)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][turn % len(schema["enum"])]
    if branches := schema.get("oneOf") or schema.get("anyOf"):
        shape = resolved(branches[turn % len(branches)], combined_schema())
        return value_of({**_without_choice(schema), **shape}, place, turn, names)
    kinds = schema.get("type", "string")
    kind = kinds if isinstance(kinds, str) else kinds[turn % len(kinds)]
    if kind == "object":
        return _mapping(schema, place, turn, names)
    if kind == "array":
        count = max(schema.get("minItems", 0), turn % 2)
        items, inside = schema.get("items", {}), (*place, ITEMS)
        return [value_of(items, inside, turn + index, names) for index in range(count)]
    return _SIMPLE[kind](schema, turn)


def spread(known: Sequence[str], turn: int, turns: int = 6) -> str:
    """Return one of many names: the first, the last, or one between them."""
    return known[turn % turns * (len(known) - 1) // (turns - 1)]


def _without_choice(schema: dict[str, Any]) -> dict[str, Any]:
    return {k: value for k, value in schema.items() if k not in ("oneOf", "anyOf", "examples")}


def _mapping(schema: dict[str, Any], place: Place, turn: int, names: Names) -> Any:
    """Return a mapping: in turn 0 with what it must have, in turn 1 with all, else with half."""
    keys = schema.get("properties", {})
    if not keys:
        examples = [e for e in schema.get("examples", ()) if isinstance(e, dict)]
        return examples[turn % len(examples)] if examples else {}
    required = schema.get("required", ())
    found = {}
    for key, inner in keys.items():
        mixed = crc32(f"{turn} {key}".encode()) % 97 if turn else 0  # alike in every run
        if key in required or turn == 1 or mixed % 2:
            value = value_of(inner, (*place, key), 1 if turn == 1 else mixed >> 1, names)
            if key in required or fits(inner, value):
                found[key] = value
    for key in [key for key in reversed(found) if key not in required]:
        if fits(schema, found):
            break
        del found[key]  # keys that exclude one another
    return found


def _integer(schema: dict[str, Any], turn: int) -> int:
    least = schema.get("minimum", 0)
    most = schema.get("maximum", least + 8)
    known = [e for e in schema.get("examples", ()) if isinstance(e, int)]
    known += [least, most, *range(least + 1, min(most, least + 8))]
    return int(known[turn % len(known)])


def _boolean(_: dict[str, Any], turn: int) -> bool:
    return bool(turn % 2)


def _text(schema: dict[str, Any], turn: int) -> str:
    known = [e for e in schema.get("examples", ()) if isinstance(e, str)] or list(_WORDS)
    rule = {key: value for key, value in schema.items() if key in ("pattern", "maxLength", "type")}
    text = known[turn % len(known)]
    texts = [f"{text}{turn}", f"{text}-{turn}"] if turn >= len(known) else []
    return next((t for t in (*texts, text, *known) if fits(rule, t)), text)


def _null(_: dict[str, Any], __: int) -> None:
    return None


_SIMPLE: dict[str, Callable[[dict[str, Any], int], Any]] = {
    "integer": _integer,
    "boolean": _boolean,
    "string": _text,
    "null": _null,
    "number": _integer,
}
