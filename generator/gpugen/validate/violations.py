"""Where the value of a schema error is, what it is called, and which schemas lead to it."""

from __future__ import annotations

from typing import Any

from gpugen.model.finding import ROOT, Finding, Pointer
from gpugen.text.spelling import quoted, shown
from gpugen.validate.combined import combined_schema
from gpugen.validate.joining import Worded
from gpugen.validate.keys import ITEMS, Place, resolved

CHOICES = ("anyOf", "oneOf")


def pointer_of(error: Any) -> Pointer:
    """Return the place of the value that an error is about."""
    pointer = ROOT
    for part in error.absolute_path:
        pointer = pointer / part
    return pointer


def place_of(error: Any) -> Place:
    """Return the keys to the value that an error is about; a list's items are alike."""
    return tuple(ITEMS if isinstance(part, int) else part for part in error.absolute_path)


def name_of(error: Any) -> str:
    """Return the name of the wrong value: its key, or the names of list and item."""
    keys = [part for part in error.absolute_path if isinstance(part, str)]
    if not keys:
        return "the spec"
    name = shown(keys[-1])
    if isinstance(error.absolute_path[-1], str):
        return name
    own = error.instance.get("name") if isinstance(error.instance, dict) else None
    return f"entry {quoted(own)} of {name}" if isinstance(own, str) else f"an entry of {name}"


def listed(options: list[str]) -> str:
    """Return the first of some values in a line."""
    shown_options = options[:12] + (["…"] if len(options) > 12 else [])
    return ", ".join(shown_options)


def trail_of(error: Any) -> list[dict[str, Any]]:
    """Return the schemas on the way to the violated one, each with those of choices around it."""
    schema: Any = combined_schema()
    trail: list[dict[str, Any]] = []
    around: dict[str, Any] = {}
    is_schema = True
    for part in error.absolute_schema_path:
        if is_schema:
            schema = resolved(schema, combined_schema())
            trail.append({**around, **schema})
            around = trail[-1] if part in CHOICES else {}
        is_schema = not is_schema or part not in (*CHOICES, "properties")
        schema = schema[part]
    return trail


def here(error: Any) -> dict[str, Any]:
    """Return the violated schema, merged with its references and the choice around it."""
    return trail_of(error)[-1]


def at_value(error: Any, id: str, message: str, hint: str) -> Worded:
    """Return a finding at the value that an error is about."""
    return Worded(Finding(id, message, hint, pointer_of(error)))
