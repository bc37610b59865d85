"""Every field of the spec as the schema describes it, by its path without list positions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class Field(NamedTuple):
    """A field of the spec; is_list: its items carry the fields below it.

    kind: the values of a closed set, or the types that it takes.
    """

    path: str
    schema: Mapping[str, Any]
    kind: str
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
    for part in _shapes(schema, root):
        required = part.get("required", ())
        for key, value in part.get("properties", {}).items():
            below = f"{path}.{key}".lstrip(".")
            child = _resolved(value, root)
            is_list = any("items" in shape for shape in _shapes(child, root))
            yield Field(below, child, _kind(child, root), key in required, is_list)
            yield from _below(child, root, below)


def _shapes(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """List a schema, its alternatives and the items of its lists."""
    schema = _resolved(schema, root)
    yield schema
    for part in (*schema.get("oneOf", ()), *schema.get("anyOf", ()), schema.get("items")):
        if isinstance(part, Mapping):
            yield from _shapes(part, root)


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """Follow references; keywords beside a reference win over its target."""
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


def facts(field: Field) -> list[tuple[str, str]]:
    """Return what the schema says about a field, as pairs of title and text."""
    schema = field.schema
    found = [("takes", field.kind)]
    if "x-expected" in schema:
        found.append(("expected", str(schema["x-expected"])))
    span = _span(schema)
    if span:
        found.append(("range", span))
    if "required" in schema:
        found.append(("required", ", ".join(schema["required"])))
    if "default" in schema:
        found.append(("default", flow(schema["default"])))
    return found + [("example", flow(example)) for example in schema.get("examples", ())]


_KINDS = {
    "object": "mapping",
    "array": "list",
    "string": "text",
    "integer": "number",
    "boolean": "true or false",
    "null": "null",
}


def _kind(schema: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """Return the values of a closed set, else the types of a schema and of its alternatives."""
    schema = _resolved(schema, root)
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    alternatives = [*schema.get("oneOf", ()), *schema.get("anyOf", ())]
    if alternatives:
        return " or ".join(dict.fromkeys(_kind(part, root) for part in alternatives))
    kinds = schema.get("type", [])
    words = [_KINDS[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    items = f" of {_kind(schema['items'], root)}" if "items" in schema else ""
    return " or ".join(words) + items


def _span(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None and high is None:
        return ""
    return f"{'' if low is None else low}..{'' if high is None else high}"


def flow(value: Any) -> str:
    """Return a value as a spec can hold it on one line; JSON is YAML."""
    return json.dumps(value, ensure_ascii=False)
