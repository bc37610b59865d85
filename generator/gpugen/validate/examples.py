"""Names of values and types, and examples of what to write."""

from __future__ import annotations

import json
from collections.abc import Sized
from itertools import islice
from typing import Any

from gpugen.text.spelling import quoted, shown
from gpugen.validate.combined import combined_schema
from gpugen.validate.keys import resolved

KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}
_SHORT = 80  # characters of an example
_FEW = 40  # entries of a list or mapping that are spelt out


def kind(value: Any) -> str:
    """Describe a value with its YAML type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"the number {shown(str(value))}"
    if isinstance(value, str):
        return f"the text {quoted(value)}" if value else "empty text"
    return "a list" if isinstance(value, list) else "a mapping"


def spelled(value: Any) -> str:
    """Spell a value as it may be written in YAML, on one line."""
    if isinstance(value, str):
        is_word = value.replace("-", "").replace(".", "").replace("/", "").isalpha()
        return shown(value) if is_word else f'"{shown(value)}"'
    if isinstance(value, list):
        return f"[{', '.join([*map(spelled, value[:_FEW]), *_dots(value)])}]"
    if isinstance(value, dict):
        entries = [f"{shown(key)}: {spelled(item)}" for key, item in islice(value.items(), _FEW)]
        return f"{{{', '.join([*entries, *_dots(value)])}}}"
    return json.dumps(value)


def _dots(entries: Sized) -> list[str]:
    return ["…"] if len(entries) > _FEW else []


def example_of(schema: dict[str, Any]) -> str:
    """Return a short example of the schema, or nothing."""
    for candidate in schema.get("examples", ()):
        text = spelled(candidate)
        if len(text) <= _SHORT:
            return text
    keys = {
        key: example_of(resolved(schema["properties"][key], combined_schema()))
        for key in schema.get("required", ())
        if key in schema.get("properties", {})
    }
    text = ", ".join(f"{key}: {example}" for key, example in keys.items())
    return f"{{{text}}}" if text and all(keys.values()) and len(text) <= _SHORT else ""
