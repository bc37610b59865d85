"""Our CRDs of node feature discovery and upstream's, each in a real API server.

A static test compares the texts; this one compares what a server makes of them: an object with
every field, and that object with one fault at a time.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from gpugen.components.devices.node_feature_discovery import crds as ours
from support.lab.cluster.api import Api, Object
from support.lab.cluster.delivery import CRDS, Delivery, bare, definition_of
from support.lab.cluster.fixtures import GROUP, Find
from support.lab.cluster.plane import running
from support.lab.cluster.programs import wait_until

pytestmark = pytest.mark.xdist_group(GROUP)

Place: TypeAlias = tuple[str | int, ...]
Verdict: TypeAlias = tuple[bool, Any]
SAMPLES = {"string": "text", "integer": 1, "boolean": True}
WRONG = {"string": 7, "integer": "seven", "boolean": "yes", "object": "text", "array": "text"}


@pytest.fixture(scope="module")
def apart(upstream: Find, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """Return an API server of its own: controllers stand still for a while where CRDs go away."""
    with running(tmp_path_factory.mktemp("crds"), upstream) as plane:
        yield plane.api


@pytest.mark.parametrize("definition", [ours.node_feature(), ours.node_feature_rule()])
def test_server_says_the_same(
    apart: Api, crds: Callable[[str], list[Path]], definition: Object
) -> None:
    delivery = Delivery(apart, crds)
    name = definition["metadata"]["name"]
    texts = [text for path in crds("nfd") for text in path.read_text().split("\n---\n")]
    upstream = next(
        found
        for found in (definition_of(text) for text in texts if text.strip("-\n"))
        if found["metadata"]["name"] == name
    )
    cases = dict(_cases(upstream))
    said_of_ours = verdicts(delivery, definition, cases)
    said_of_upstreams = verdicts(delivery, upstream, cases)
    assert said_of_ours == said_of_upstreams
    is_good, kept = said_of_ours["whole"]
    assert is_good
    assert kept == bare(cases["whole"]), "a field was dropped"
    refused = [case for case, (is_good, _) in said_of_ours.items() if not is_good]
    assert len(refused) >= 10, refused


def verdicts(
    delivery: Delivery, definition: Object, cases: dict[str, Object]
) -> dict[str, Verdict]:
    """Return what a server with this CRD makes of each case; the CRD is gone afterwards."""
    api = delivery.api
    path = f"{CRDS}/{definition['metadata']['name']}"
    remove(delivery, path)
    api.apply({"apiVersion": "apiextensions.k8s.io/v1", **definition})
    delivery.wait_for_definitions([definition])
    result: dict[str, Verdict] = {}
    for case, item in cases.items():
        folder = api.path(item).rpartition("/")[0]
        answer = api.call(
            "POST", folder, item, query={"dryRun": "All", "fieldValidation": "Strict"}
        )
        result[case] = (answer.is_good, bare(answer.body) if answer.is_good else None)
    remove(delivery, path)
    return result


def remove(delivery: Delivery, path: str) -> None:
    """Delete a CRD and wait for the end of it."""
    delivery.api.delete(path)
    wait_until("end of the CRD", lambda: delivery.api.find(path) is None)


def _cases(definition: Object) -> Iterator[tuple[str, Object]]:
    """Yield an object with every field of the definition, and faulty copies of it."""
    spec = definition["spec"]
    (version,) = spec["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    whole = {
        **sample(schema),
        "apiVersion": f"{spec['group']}/{version['name']}",
        "kind": spec["names"]["kind"],
        "metadata": {"name": "whole"},
    }
    if spec["scope"] == "Namespaced":
        whole["metadata"]["namespace"] = "default"
    yield "whole", whole
    for place, part in _places(schema, whole):
        for fault, value in _faults(part):
            yield f"{'/'.join(map(str, place))}: {fault}", put(whole, place, value)


def sample(schema: Object) -> Any:
    """Return a value with every field that a schema has."""
    if "properties" in schema:
        fields = schema["properties"].items()
        return {key: sample(part) for key, part in fields if key not in _OWN}
    if "additionalProperties" in schema:
        return {"key": sample(schema["additionalProperties"])}
    if schema["type"] == "array":
        return [sample(schema["items"])]
    if schema["type"] == "object":
        return {}
    if schema.get("format") == "date-time":
        return "2026-11-21T00:00:00Z"
    return schema["enum"][0] if "enum" in schema else SAMPLES[schema["type"]]


_OWN = ("apiVersion", "kind", "metadata")


def _places(schema: Object, value: Any, place: Place = ()) -> Iterator[tuple[Place, Object]]:
    """Yield every place of a sample with its schema."""
    if place:
        yield place, schema
    if isinstance(value, dict):
        parts = schema.get("properties") or {"key": schema.get("additionalProperties")}
        for key, part in parts.items():
            if key in value and part is not None and (place or key not in _OWN):
                yield from _places(part, value[key], (*place, key))
    elif isinstance(value, list):
        yield from _places(schema["items"], value[0], (*place, 0))


def _faults(schema: Object) -> Iterator[tuple[str, Any]]:
    yield "another type", WRONG[schema["type"]]
    yield "null", None
    if "enum" in schema:
        yield "unknown word", "nonsense"
    if schema.get("format"):
        yield "no date", "nonsense"
    if "properties" in schema:
        whole = sample(schema)
        yield "unknown field", {**whole, "misspelt": 1}
        for key in schema["properties"]:
            yield f"without {key}", {k: v for k, v in whole.items() if k != key}


def put(whole: Object, place: Place, value: Any) -> Object:
    """Return a copy with another value at a place."""
    result = copy.deepcopy(whole)
    at: Any = result
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    return result
