"""Specs for the tests of components; Kubernetes checks the objects strictly on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import kubernetes_validate

from gpugen.catalog import Catalog
from gpugen.components import find
from gpugen.model.assembly import Contribution, KubeObject
from gpugen.model.spec import ClusterSpec
from gpugen.resolve import resolve

KUBERNETES = "1.36"


def pool(name: str = "a", model: str = "a100-sxm4-40gb", count: int = 4, **more: Any) -> Any:
    """Return one pool as a spec states it."""
    gpu = {"model": model, "count": count}
    return {"name": name, "gpu": gpu, "hosts": [f"{name}-[01:02].lab.example"], **more}


def cluster(
    *pools: Any, components: Mapping[str, Any] = {}, distribution: str = "kubeadm", **more: Any
) -> ClusterSpec:
    """Resolve a spec with these pools, by default one of whole GPUs."""
    data = {
        "apiVersion": "gpugen/v1",
        "kind": "Cluster",
        "name": "test",
        "release": "2026.11",
        "kubernetes": {"version": KUBERNETES, "distribution": distribution},
        "hostDefaults": {
            "os": "ubuntu-24.04",
            "driver": {"version": "580.178.04"},
            "containerToolkit": {"version": "1.20.0"},
        },
        "pools": list(pools) or [pool()],
        "components": dict(components),
        **more,
    }
    spec, findings = resolve(data, Catalog(), "inventories/test/cluster.yaml")
    assert spec is not None, findings
    return spec


def contribution(spec: ClusterSpec, component: str) -> Contribution:
    """Return what one component adds, after Kubernetes' strict schema took every object."""
    result = find(component).contribute(spec, spec.options[component])
    for placed in result.objects:
        assert_strict(placed.object)
    return result


def assert_strict(obj: KubeObject) -> None:
    """Raise if a field of the object is unknown, misplaced or of the wrong type."""
    kubernetes_validate.validate(obj, KUBERNETES, strict=True)


def objects(spec: ClusterSpec, component: str) -> dict[str, KubeObject]:
    """Return a component's objects by kind and name, such as ``DaemonSet/device-plugin-a``."""
    return {key(p.object): p.object for p in contribution(spec, component).objects}


def key(obj: KubeObject) -> str:
    """Return kind and name."""
    return f"{obj['kind']}/{obj['metadata']['name']}"


def pod(workload: KubeObject) -> dict[str, Any]:
    """Return the pod of a DaemonSet or Deployment."""
    spec: dict[str, Any] = workload["spec"]["template"]["spec"]
    return spec


def container(workload: KubeObject) -> dict[str, Any]:
    """Return the only container of a workload."""
    (only,) = pod(workload)["containers"]
    assert isinstance(only, dict)
    return only


def environment(workload: KubeObject) -> dict[str, str]:
    """Return the constant part of a workload's environment."""
    return {e["name"]: e["value"] for e in container(workload)["env"] if "value" in e}


def mounts(workload: KubeObject) -> dict[str, str]:
    """Return host path -> path in the container of a workload's only container."""
    volumes = {
        v["name"]: v["hostPath"]["path"] for v in pod(workload)["volumes"] if "hostPath" in v
    }
    return dict(_mounts(container(workload), volumes))


def _mounts(one: Mapping[str, Any], volumes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for mount in one["volumeMounts"]:
        if mount["name"] in volumes:
            yield volumes[mount["name"]], mount["mountPath"]
