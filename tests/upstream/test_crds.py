"""Custom resources are validated by upstream's CRDs, strictly: unknown fields, types, identity."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.upstream import crd
from support.upstream.table import CrdSet, table


def service_monitor(endpoint: dict[str, Any]) -> dict[str, Any]:
    """Return a ServiceMonitor with one endpoint."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": "dcgm-exporter", "namespace": "gpu"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "endpoints": [endpoint]},
    }


@pytest.mark.parametrize(
    ("endpoint", "at"),
    [
        ({"port": "metrics", "interval": "15s", "relabelings": []}, ""),
        ({"port": "metrics", "targetPort": 9400, "scheme": "http"}, ""),
        ({"port": "metrics", "relabellings": []}, "spec.endpoints.0: "),
        ({"port": "metrics", "interval": 15}, "spec.endpoints.0.interval: "),
        ({"port": "metrics", "interval": "15s\n"}, "spec.endpoints.0.interval: "),
    ],
)
def test_crds_validate_a_service_monitor(
    validate_custom_resource: Callable[[dict[str, Any]], list[str]],
    endpoint: dict[str, Any],
    at: str,
) -> None:
    problems = validate_custom_resource(service_monitor(endpoint))
    assert len(problems) == (1 if at else 0), problems
    assert all(problem.startswith(at) for problem in problems)


@pytest.mark.parametrize("crd_set", table().crd_sets, ids=lambda each: each.name)
def test_crds_are_read_and_closed(crds: Callable[[str], list[Path]], crd_set: CrdSet) -> None:
    for path in crds(crd_set.name):
        for each in crd.read(path):
            for version, schema in each.schemas.items():
                resource = {
                    "apiVersion": f"{each.group}/{version}",
                    "kind": each.kind,
                    "metadata": {"name": "x"},
                    "misspelt": 1,
                }
                problems = crd.validate(resource, [path])
                assert any("'misspelt' was unexpected" in problem for problem in problems), schema


SCHEMA = """\
kind: CustomResourceDefinition
spec:
  group: example.org
  scope: Cluster
  names: {kind: Thing}
  versions:
    - name: v1
      served: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            metadata: {type: object}
            spec:
              type: object
              properties:
                port: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true}
                maybe: {type: string, enum: [a], nullable: true}
                operator: {type: string, enum: [=, "!="]}
                labels: {type: object, additionalProperties: {type: string}}
                free: {type: object, x-kubernetes-preserve-unknown-fields: true}
                empty: {type: object}
                few: {type: integer, minimum: 0, exclusiveMinimum: true}
                ports:
                  type: array
                  items: {type: object, properties: {name: {type: string}}}
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [name]
    - {name: v0, served: false, schema: {openAPIV3Schema: {type: object}}}
"""


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"port": 1}, ""),
        ({"port": "http"}, ""),
        ({"port": 1.5}, "spec.port: "),
        ({"maybe": None}, ""),
        ({"maybe": "b"}, "spec.maybe: "),
        ({"operator": "="}, ""),
        ({"operator": "<"}, "spec.operator: "),
        ({"labels": {"anything": "x"}}, ""),
        ({"labels": {"anything": 1}}, "spec.labels.anything: "),
        ({"free": {"anything": 1}}, ""),
        ({"empty": {"anything": 1}}, "spec.empty: "),
        ({"few": 0}, "spec.few: "),
        ({"ports": [{"name": "a"}, {"name": "b"}]}, ""),
        ({"ports": [{"name": "a"}, {"name": "a"}]}, "spec.ports: "),
        ({"prot": 1}, "spec: "),
    ],
)
def test_a_resource_is_validated(tmp_path: Path, spec: dict[str, Any], problem: str) -> None:
    path = tmp_path / "crd.yaml"
    path.write_text(SCHEMA, "utf-8")
    resource = {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "x"}}
    problems = crd.validate(resource | {"spec": spec}, [path])
    assert bool(problems) is bool(problem), problems
    assert all(each.startswith(problem) for each in problems), problems


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"kind": "Thng"}, "kind: no CRD defines 'Thng'"),
        ({"apiVersion": "example.org/v0"}, "apiVersion: Thing is served as ['v1']"),
        ({"metadata": {"name": "x", "namespace": "y"}}, "metadata.namespace: Thing has none"),
        ({"metadata": {"name": "x", "lables": {}}}, "metadata: "),
        ({"metadata": {"name": "x", "labels": {"a": True}}}, "metadata.labels.a: "),
        ({"metadata": {}}, "metadata: 'name' is a required property"),
        ({"sepc": {}}, ": Additional properties are not allowed ('sepc' was unexpected)"),
    ],
)
def test_identity_is_validated(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    path = tmp_path / "crd.yaml"
    path.write_text(SCHEMA, "utf-8")
    resource = {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "x"}}
    (found,) = crd.validate(resource | change, [path])
    assert found.startswith(problem)
