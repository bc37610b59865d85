"""The CustomResourceDefinitions of node feature discovery, built from the fields of its API.

Structural and without descriptions. No NodeFeatureGroup: its feature gate is off, so nothing would
read such an object. Source: node-feature-discovery v0.18.3, api/nfd/v1alpha1/types.go; a
conformance test compares the result with deployment/base/nfd-crds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from gpugen import kube
from gpugen.model.assembly import KubeObject

Schema: TypeAlias = dict[str, Any]

GROUP = "nfd.k8s-sigs.io"
VERSION = "v1alpha1"
OPERATORS = (
    *("In", "NotIn", "InRegexp", "Exists", "DoesNotExist"),
    *("Gt", "Ge", "Lt", "Le", "GtLt", "GeLe", "IsTrue", "IsFalse"),
)


def node_feature() -> KubeObject:
    """Return the definition of NodeFeature: what was found on a node, and labels asked for."""
    spec = _object({"features": _features(), "labels": _map(_string())})
    return _definition("NodeFeature", spec, scope="Namespaced")


def node_feature_rule() -> KubeObject:
    """Return the definition of NodeFeatureRule: labels, annotations, taints that follow from it."""
    return _definition(
        "NodeFeatureRule",
        _object({"rules": _list(_rule())}, required=["rules"]),
        scope="Cluster",
        short_names=["nfr"],
    )


def _definition(
    kind: str, spec: Schema, *, scope: str, short_names: Sequence[str] = ()
) -> KubeObject:
    singular, plural = kind.lower(), f"{kind.lower()}s"
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": singular}
    schema = _object(
        {"apiVersion": _string(), "kind": _string(), "metadata": {"type": "object"}, "spec": spec},
        required=["spec"],
    )
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": kube.metadata(f"{plural}.{GROUP}"),
        "spec": {
            "group": GROUP,
            "names": {**names, **({"shortNames": list(short_names)} if short_names else {})},
            "scope": scope,
            "versions": [version],
        },
    }


def _features() -> Schema:
    """Return the three forms of a feature set: names, names with values, devices."""
    instance = _object({"attributes": _map(_string())}, required=["attributes"])
    return _object(
        {
            "flags": _map(_elements(_map({"type": "object"}))),
            "attributes": _map(_elements(_map(_string()))),
            "instances": _map(_elements(_list(instance))),
        }
    )


def _elements(schema: Schema) -> Schema:
    return _object({"elements": schema}, required=["elements"])


def _rule() -> Schema:
    texts = ("labels", "annotations", "vars", "extendedResources")
    templates = ("name", "labelsTemplate", "varsTemplate")
    match_any = _object({"matchFeatures": _matcher()}, required=["matchFeatures"])
    return _object(
        {
            **{key: _string() for key in templates},
            **{key: _map(_string()) for key in texts},
            "taints": _list(_taint()),
            "matchFeatures": _matcher(),
            "matchAny": _list(match_any),
        },
        required=["name"],
    )


def _taint() -> Schema:
    times = {"type": "string", "format": "date-time"}
    keys = {key: _string() for key in ("effect", "key", "value")}
    return _object({**keys, "timeAdded": times}, required=["effect", "key"])


def _matcher() -> Schema:
    expression = _object(
        {
            "op": {"type": "string", "enum": list(OPERATORS)},
            "type": _string(),
            "value": _list(_string()),
        },
        required=["op"],
    )
    term = {
        "feature": _string(),
        "matchExpressions": _map(expression),
        "matchName": expression,
    }
    return _list(_object(term, required=["feature"]))


def _object(properties: Mapping[str, Schema], required: Sequence[str] = ()) -> Schema:
    schema: Schema = {"type": "object", "properties": dict(properties)}
    return {**schema, "required": list(required)} if required else schema


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _string() -> Schema:
    return {"type": "string"}
