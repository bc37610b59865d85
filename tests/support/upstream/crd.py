"""Validates custom resources by the schema of their CRD, as strictly as `kubectl apply` can.

The API server drops a field that the schema does not know; here it is a problem. Rules in CEL
(x-kubernetes-validations) are not evaluated: that takes a real kube-apiserver.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

Json = dict[str, Any]

# Fields of ObjectMeta that a file in git may state.
_METADATA: Json = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "namespace": {"type": "string", "minLength": 1},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        "finalizers": {"type": "array", "items": {"type": "string"}},
        "ownerReferences": {"type": "array", "items": {"type": "object"}},
    },
}
_STRING: Json = {"type": "string"}


@dataclass(frozen=True, slots=True)
class Crd:
    """One CustomResourceDefinition, its schemas closed."""

    group: str
    kind: str
    scope: str  # Namespaced or Cluster
    schemas: Mapping[str, Json]  # served version -> schema


def validate(resource: Json, files: Iterable[Path]) -> list[str]:
    """Return what is wrong with a custom resource, each with its path; empty is good."""
    group, _, version = str(resource.get("apiVersion", "")).rpartition("/")
    kind = resource.get("kind")
    known = {(crd.group, crd.kind): crd for path in files for crd in read(path)}
    crd = known.get((group, str(kind)))
    if crd is None:
        return [f"kind: no CRD defines {kind!r} in group {group!r}"]
    if version not in crd.schemas:
        return [f"apiVersion: {kind} is served as {sorted(crd.schemas)}, not as {version!r}"]
    problems = list(_problems(resource, crd.schemas[version]))
    if crd.scope == "Cluster" and "namespace" in resource.get("metadata", {}):
        problems.append(f"metadata.namespace: {kind} has none")
    return sorted(problems)


@cache
def read(path: Path) -> tuple[Crd, ...]:
    """Return the CRDs of one YAML file, closed."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """YAML as upstream writes it, where a bare `=` is a string."""

    Loader.add_constructor("tag:yaml.org,2002:value", lambda loader, node: node.value)
    documents = yaml.load_all(path.read_text(encoding="utf-8"), Loader=Loader)
    return tuple(
        _crd(document["spec"])
        for document in documents
        if document and document["kind"] == "CustomResourceDefinition"
    )


def _crd(spec: Json) -> Crd:
    schemas = {
        version["name"]: _root(version["schema"]["openAPIV3Schema"])
        for version in spec["versions"]
        if version["served"]
    }
    return Crd(spec["group"], spec["names"]["kind"], spec["scope"], schemas)


def _root(schema: Json) -> Json:
    closed = close(schema)
    properties = closed.get("properties", {})
    identity = {"apiVersion": _STRING, "kind": _STRING, "metadata": _METADATA}
    required = sorted({*closed.get("required", ()), *identity})
    return closed | {"properties": properties | identity, "required": required}


def close(schema: Json) -> Json:
    """Return a structural schema of Kubernetes as draft 4, unknown fields refused."""
    closed = {key: value for key, value in schema.items() if key not in _PROSE}
    for key in ("allOf", "anyOf", "oneOf"):  # value rules: they repeat fields, so stay open
        if key in closed:
            closed[key] = [_plain(rule) for rule in closed[key]]
    if "properties" in closed:
        closed["properties"] = {name: close(part) for name, part in closed["properties"].items()}
    if "items" in closed:
        closed["items"] = close(closed["items"])
    if isinstance(closed.get("additionalProperties"), dict):
        closed["additionalProperties"] = close(closed["additionalProperties"])
    elif closed.get("type") == "object" and not schema.get("x-kubernetes-preserve-unknown-fields"):
        closed["additionalProperties"] = False
    if schema.get("x-kubernetes-embedded-resource"):
        identity = {"apiVersion": _STRING, "kind": _STRING, "metadata": {"type": "object"}}
        closed["properties"] = identity | closed.get("properties", {})
    if schema.get("x-kubernetes-int-or-string"):
        closed["type"] = ["integer", "string"]
    return _plain(_nullable(closed))


_PROSE = frozenset({"description", "default", "example", "externalDocs", "title", "format"})


def _nullable(schema: Json) -> Json:
    if not schema.pop("nullable", False):
        return schema
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    if "type" in schema:
        kinds = schema["type"]
        schema["type"] = [*(kinds if isinstance(kinds, list) else [kinds]), "null"]
    return schema


def _plain(schema: Json) -> Json:
    # Go's `$` is the end of the text; Python's also stands before a last newline.
    if "pattern" in schema:
        schema = schema | {"pattern": re.sub(r"(?<!\\)\$$", r"\\Z", schema["pattern"])}
    return schema


def _problems(resource: Json, schema: Json) -> Iterator[str]:
    from jsonschema import Draft4Validator, ValidationError, validators

    def unique(_validator: Any, keys: list[str], items: Any, _schema: Json) -> Iterator[Any]:
        if isinstance(items, list):
            seen = [
                tuple(item.get(key) for key in keys) for item in items if isinstance(item, dict)
            ]
            for found in sorted({repr(one) for one in seen if seen.count(one) > 1}):
                yield ValidationError(f"{found} is there twice in a list keyed by {keys}")

    strict = validators.extend(Draft4Validator, {"x-kubernetes-list-map-keys": unique})
    # By way of JSON: subclasses of str and dict are what they print as.
    for error in strict(schema).iter_errors(json.loads(json.dumps(resource))):
        yield f"{'.'.join(str(part) for part in error.absolute_path)}: {error.message}"
