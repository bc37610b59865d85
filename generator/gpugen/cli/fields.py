"""Every field of the spec as the schema describes it, by its path without list positions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the spec; is_list: its items carry the fields below it."""

    path: str
    schema: Mapping[str, Any]
    is_required: bool
    is_list: bool

    @property
    def name(self) -> str:
        """The last step of the path."""
        return self.path.rpartition(".")[2]

    @property
    def description(self) -> str:
        """What the field holds, in a sentence or more."""
        return str(self.schema.get("description", ""))


def fields() -> dict[str, Field]:
    """Return path -> field in the order of the schema, the options of all components included."""
    from gpugen.validate import combined_schema

    root = combined_schema()
    result: dict[str, Field] = {}
    for field in _below(root, root, ""):
        result.setdefault(field.path, field)
    return result


def _below(schema: Mapping[str, Any], root: Mapping[str, Any], path: str) -> Iterator[Field]:
    """List the fields below a schema, depth first."""
    for part in _shapes(schema, root):
        required = part.get("required", ())
        for key, value in part.get("properties", {}).items():
            below = f"{path}.{key}".lstrip(".")
            child = _resolved(value, root)
            is_list = any("items" in shape for shape in _shapes(child, root))
            yield Field(below, child, key in required, is_list)
            yield from _below(child, root, below)


def _shapes(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """List a schema and what else it allows: its alternatives, and the items of its lists."""
    schema = _resolved(schema, root)
    yield schema
    for part in (*schema.get("oneOf", ()), *schema.get("anyOf", ()), schema.get("items")):
        if isinstance(part, Mapping):
            yield from _shapes(part, root)


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """Follow references; what stands beside a reference wins over its target."""
    target: Any = schema
    merged: dict[str, Any] = {}
    while True:
        merged = {**{k: v for k, v in target.items() if k != "$ref"}, **merged}
        reference = target.get("$ref")
        if not reference:
            return merged
        target = root
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]


def facts(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what the schema says of a field as pairs of a word and a short text."""
    found = [("values", kind) for kind in [_values(schema)] if kind]
    if not found and "type" in schema:
        found.append(("type", _words(schema["type"])))
    if "x-wanted" in schema:
        found.append(("wanted", str(schema["x-wanted"])))
    span = _span(schema)
    if span:
        found.append(("range", span))
    if "required" in schema:
        found.append(("required", ", ".join(schema["required"])))
    if "default" in schema:
        found.append(("default", flow(schema["default"])))
    return found + [("example", flow(example)) for example in schema.get("examples", ())]


def _values(schema: Mapping[str, Any]) -> str:
    """Return the values of a closed set; empty where the field is open."""
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    return ""


def _words(kind: str | list[str]) -> str:
    """Return the name of a type, or of several."""
    return kind if isinstance(kind, str) else " or ".join(kind)


def _span(schema: Mapping[str, Any]) -> str:
    """Return the bounds of a number."""
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None and high is None:
        return ""
    return f"{'' if low is None else low}..{'' if high is None else high}"


def flow(value: Any) -> str:
    """Return a value as a spec can hold it on one line; JSON is YAML."""
    return json.dumps(value, ensure_ascii=False)
