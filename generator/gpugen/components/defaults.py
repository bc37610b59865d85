"""Fills what a spec leaves out with the defaults that its schema states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def fill(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the value with every default of the schema below it; the value is not changed.

    Keys come in the schema's order and those of free maps sorted, in whatever order they stood.
    root: the schema that ``$ref`` points into. A mapping meets the mapping branch of a ``oneOf``.
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
    """Follow a reference into the root's definitions; keys beside it win."""
    reference = schema.get("$ref")
    if not reference:
        return schema
    target: Mapping[str, Any] = root["$defs"][reference.removeprefix("#/$defs/")]
    return {**_resolved(target, root), **{k: v for k, v in schema.items() if k != "$ref"}}
