"""Fills what a spec leaves out with the defaults of its schema, and makes records of the result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

T = TypeVar("T")


def fill(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the value with every default of the schema below it; the value is not changed.

    Keys are in the schema's order, those of free maps sorted. root: the schema that ``$ref`` points
    into. A mapping uses the mapping branch of a ``oneOf``.
    """
    if isinstance(value, list):
        items = _resolved(schema, root).get("items")
        return [fill(item, items, root) for item in value] if items else value
    if not isinstance(value, dict):
        return value
    result = {}
    properties = _properties(schema, root)
    for key, part in properties.items():
        if key in value:
            result[key] = fill(value[key], part, root)
        elif "default" in (part := _resolved(part, root)):
            result[key] = fill(part["default"], part, root)
    for key in sorted(value.keys() - properties.keys()):
        result[key] = fill(value[key], {}, root)
    return result


def _properties(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties of a mapping's schema, or of the first branch that has any."""
    schema = _resolved(schema, root)
    branches = [schema, *(_resolved(branch, root) for branch in schema.get("oneOf", ()))]
    return next((b["properties"] for b in branches if "properties" in b), {})


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a reference into the root's definitions; keywords beside it win."""
    reference = schema.get("$ref")
    if not reference:
        return schema
    target: Mapping[str, Any] = root["$defs"][reference.removeprefix("#/$defs/")]
    return {**_resolved(target, root), **{k: v for k, v in schema.items() if k != "$ref"}}


def read(kind: type[T], data: Mapping[str, Any]) -> T:
    """Return a record of plain data that the schema passed; ``maxUnavailable`` is max_unavailable.

    Mappings and lists become what the fields are annotated as: records and tuples.
    """
    hints = _hints(kind)  # type: ignore[arg-type]  # classes are hashable
    fields = {re.sub("[A-Z]", lambda m: f"_{m[0].lower()}", key): v for key, v in data.items()}
    return kind(**{name: _as(hints[name], value) for name, value in fields.items()})


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _as(hint: Any, value: Any) -> Any:
    if isinstance(value, dict):
        records = (one for one in (hint, *get_args(hint)) if hasattr(one, "_fields"))
        record = next(records, None)
        return value if record is None else read(record, value)
    if isinstance(value, list):
        return tuple(_as(get_args(hint)[0], item) for item in value)
    return value
