"""One schema out of the root of the spec and the options of every component."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from gpugen import assets, components

ROOT_FILE = "cluster.schema.json"
_OWN = ("$schema", "$id", "$defs", "title")  # of an options schema; the root has its own


@cache
def combined_schema() -> dict[str, Any]:
    """Return the schema of a whole spec; a component is false, true or its options."""
    schema: dict[str, Any] = json.loads((assets.schemas() / ROOT_FILE).read_bytes())
    places = schema["properties"]["components"]
    places["additionalProperties"] = False
    places["properties"] = {}
    for name in components.names():
        options = components.options_schema(name)
        if options is not None:
            schema.setdefault("$defs", {}).update(_definitions(name, options))
            places["properties"][name] = _component(name, options)
    return schema


def _component(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a component's value."""
    body = {key: value for key, value in options.items() if key not in _OWN}
    description = body.pop("description", "")
    body["x-instead"] = _usual_slips(name) | body.get("x-instead", {})
    own = frozenset(options.get("$defs", {}))
    return {
        "description": description,
        "anyOf": [{"type": "boolean"}, _renamed(name, own, body)],
        "x-hint": f"write {name}: false to disable it, {name}: {{}} to enable it",
        "default": {},
        "examples": [{}, False],
    }


def _usual_slips(name: str) -> dict[str, str]:
    """Return what to write instead of keys that Helm charts have for a component."""
    off = f"write {name}: false to disable it, {name}: {{}} to enable it"
    image = "remove it; images follow from release, and their registry from images.registry"
    return {
        **dict.fromkeys(("enabled", "enable", "disabled", "install"), off),
        **dict.fromkeys(("image", "repository", "tag", "imagePullPolicy"), image),
        "version": "remove it; the versions of components follow from release",
        "tolerations": "remove it; agents tolerate every taint",
        "nodeSelector": "remove it; agents select the label gpugen/pool",
        "values": "write the component's own options; gpugen does not use a chart",
    }


def _definitions(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the definitions of an options schema under names that cannot clash."""
    own: dict[str, Any] = options.get("$defs", {})
    return {f"{name}.{key}": _renamed(name, frozenset(own), value) for key, value in own.items()}


def _renamed(name: str, own: frozenset[str], value: Any) -> Any:
    """Let references to a component's own definitions follow them to the root."""
    if isinstance(value, list):
        return [_renamed(name, own, item) for item in value]
    if not isinstance(value, dict):
        return value
    renamed = {key: _renamed(name, own, item) for key, item in value.items()}
    reference = renamed.get("$ref")
    if isinstance(reference, str) and reference.removeprefix("#/$defs/") in own:
        renamed["$ref"] = f"#/$defs/{name}.{reference.removeprefix('#/$defs/')}"
    return renamed
