"""What hangs on a release: digests and requests; an older one renders as before."""

from __future__ import annotations

from typing import Any

from gpugen import kube
from gpugen.assemble import assemble
from gpugen.catalog import Catalog
from gpugen.components.devices import plugin
from gpugen.model.assembly import KubeObject
from gpugen.model.spec import ClusterSpec
from support.component_specs import cluster, pool

OLD, NEW = "2026.11", "2026.12"
MIXED = {"strategy": "mixed", "layout": [{"gpus": "all", "profiles": {"1g.5gb": 7}}]}
MPS = {"mode": "mps", "resources": {"nvidia.com/gpu": 4}}
POOLS = (pool("a"), pool("b", mig=MIXED), pool("c", model="l4", count=1, sharing=MPS))


def containers(spec: ClusterSpec) -> list[KubeObject]:
    workloads = [p.object for p in assemble(spec).objects if "template" in p.object.get("spec", {})]
    pods = [item["spec"]["template"]["spec"] for item in workloads]
    return [c for p in pods for c in (*p["containers"], *p.get("initContainers", ()))]


def of(release: str, **more: Any) -> ClusterSpec:
    return cluster(*POOLS, release=release, **more)


def test_every_container_has_requests_and_none_a_limit_of_cpu() -> None:
    for each in containers(of(NEW, components={"scheduler": {"mode": "second"}})):
        resources = each["resources"]
        assert {"cpu", "memory"} <= resources["requests"].keys(), each["name"]
        assert "cpu" not in resources.get("limits", {}), each["name"]
        if each["name"] in ("mig-manager", "device-plugin", "gpu-feature-discovery"):
            assert "limits" not in resources
    silent = {c["name"] for c in containers(of(OLD)) if "resources" not in c}
    assert silent == {
        "device-plugin",
        "gpu-feature-discovery",
        "mig-manager",
        "mps-control-daemon",
        "mount-shm",
    }


def test_stated_resources_win() -> None:
    stated = {"limits": {"memory": "1Gi"}}
    spec = of(NEW, components={"device-plugin": {"resources": stated}})
    plugins = [c for c in containers(spec) if c["name"] == "device-plugin"]
    assert [c["resources"] for c in plugins] == [stated] * 3


def test_known_digests_are_rendered_and_yield_to_the_spec() -> None:
    row = Catalog().release(NEW).images
    plugin = f"{row['device-plugin'].repository}:v0.19.3@{row['device-plugin'].digest}"
    assert kube.image(of(NEW), "device-plugin") == plugin
    assert "@" not in kube.image(of(OLD), "device-plugin")
    assert "@" not in kube.image(of(NEW), "node-feature-discovery")
    assert "@" not in kube.image(of(NEW), "scheduler")
    mirrored = of(NEW, images={"registry": "mirror.example"})
    assert kube.image(mirrored, "device-plugin") == plugin.replace("nvcr.io", "mirror.example")
    own = f"sha256:{'1' * 64}"
    assert kube.image(of(NEW, images={"digests": {"mig-manager": own}}), "mig-manager").endswith(
        f"v0.14.5@{own}"
    )


def test_a_digest_is_never_that_of_another_version() -> None:
    spec = of(NEW, components={"device-plugin": {"version": "0.20.0"}})
    assert plugin.image(spec, "device-plugin").endswith(":v0.20.0")
    same = of(NEW, components={"device-plugin": {"version": "0.19.3"}})
    assert plugin.image(same, "device-plugin") == plugin.image(of(NEW), "device-plugin")
