"""Fills what a spec leaves out with the defaults that its schema states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def fill(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the value with every default of the schema below it; the value is not changed.

    root: the schema that ``$ref`` points into. A mapping meets the mapping branch of a ``oneOf``.
    """
    if not isinstance(value, dict | list):
        return value
    schema = _resolved(schema, root)
    if isinstance(value, list):
        items = schema.get("items")
        return [fill(item, items, root) for item in value] if items else value
    for branch in schema.get("oneOf", ()):
        if "properties" in (resolved := _resolved(branch, root)):
            schema = resolved
    properties = schema.get("properties")
    if not properties:
        return value
    result = dict(value)
    for key, part in properties.items():
        if key in result:
            result[key] = fill(result[key], part, root)
        elif "default" in (part := _resolved(part, root)):
            result[key] = fill(part["default"], part, root)
    return result


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a reference into the root's definitions; keys beside it win."""
    reference = schema.get("$ref")
    if not reference:
        return schema
    target: Mapping[str, Any] = root["$defs"][reference.removeprefix("#/$defs/")]
    return {**_resolved(target, root), **{k: v for k, v in schema.items() if k != "$ref"}}
