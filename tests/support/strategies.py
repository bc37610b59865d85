"""Hypothesis strategies of specs that gpugen has to accept, as unusual as they may be."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from gpugen.gpu import mig
from gpugen.gpu.devices import count_devices
from gpugen.model.finding import ROOT
from gpugen.resolve.pool import mig_of
from support.rich import catalog, rendered

SYSTEMS = ["ubuntu-24.04", "ubuntu-22.04", "debian-12", "debian-13", "ubuntu-26.04"]
DRIVERS = ["580.178.04", "595.91.07", "570.211.01"]
DISTRIBUTIONS = ["kubeadm", "k3s", "rke2", "k0s"]
DIGEST = "sha256:" + "ab" * 32
NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True).filter(
    lambda name: name != "cluster"
)
WORDS = st.sampled_from(
    [
        "",
        "plain words",
        "Größe: 4 mal 80 GB; 'quoted' \"twice\"",
        "# no comment",
        "- item",
        "a\nb: c",
    ]
)
LABELS = st.dictionaries(
    st.sampled_from(["example.com/team", "team", "a.b.example/x_Y.z"]),
    st.sampled_from(["", "research", "1", "true", "null", "a_B.c-9"]),
    max_size=3,
)
TAINTS = st.lists(
    st.builds(
        lambda key, value, effect: (
            {"key": key, "effect": effect} | ({"value": value} if value else {})
        ),
        st.sampled_from(["nvidia.com/gpu", "example.com/gpu", "dedicated"]),
        st.sampled_from(["", "present", "true", "0"]),
        st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
    ),
    max_size=3,
    unique_by=lambda taint: (taint["key"], taint["effect"]),
)
RESOURCES = st.sampled_from(
    [{}, {"requests": {"cpu": "5m"}}, {"requests": {"memory": "1Gi"}, "limits": {"cpu": "1.5"}}]
)


def spec(pools: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return the least spec with these pools."""
    return {
        "apiVersion": "gpugen/v1",
        "kind": "Cluster",
        "name": "drawn",
        "release": "2026.11",
        "kubernetes": {"version": "1.36", "distribution": "kubeadm"},
        "access": {"kubeconfigContext": "drawn"},
        "hostDefaults": {"containerToolkit": {"version": "1.20.0"}},
        "pools": pools,
        **more,
    }


@cache
def hosts_of(model: str) -> list[dict[str, Any]]:
    """List the host settings with which a GPU model may be used."""
    found = []
    for system in SYSTEMS:
        for version in DRIVERS:
            host = {"os": system, "driver": {"version": version}}
            pool = {"name": "p", "gpu": {"model": model, "count": 1}, "hosts": ["a.example"]}
            tree, _ = rendered(spec([{**pool, "host": host}]))
            if tree is not None:
                found.append(host)
    return found


@cache
def layouts_of(model: str) -> list[dict[str, int]]:
    """List what one GPU may have as MIG layout, with names that the shipped plugin advertises."""
    geometry = catalog().gpu(model).geometry
    if geometry is None:
        return []
    return [
        layout
        for layout in mig.layouts(geometry)
        if all(mig.is_advertised(profile, "0.19.3") for profile in layout)
    ]


@st.composite
def hosts(draw: DrawFn, pool: int) -> list[Any]:
    """Draw the lines of a pool's hosts; those of different pools never meet."""
    lines: list[Any] = [
        draw(
            st.sampled_from(["n[01:04]", "n[1:3]", "n[a:c]", "n[001:009:2]", "n1", "r[1:2]n[1:2]"])
        )
        + f"-{pool}.example"
    ]
    for i in range(draw(st.integers(0, 2))):
        line = {"name": f"single-{i}-{pool}.example"}
        line |= draw(
            st.sampled_from(
                [{}, {"address": f"10.0.{pool}.{i + 1}"}, {"address": f"fd00:{pool}::{i}"}]
            )
        )
        line |= draw(st.sampled_from([{}, {"nodeName": f"worker-{i}-{pool}"}]))
        line |= draw(st.sampled_from([{}, {"variables": {"rack": "B 7"}}]))
        line |= draw(st.sampled_from([{}, {"ssh": {"port": 2222, "proxyJump": ["b.example"]}}]))
        line |= draw(st.sampled_from([{}, {"description": "on loan: until {next} week"}]))
        lines.append(line)
    return lines


@st.composite
def mig_settings(draw: DrawFn, model: str, count: int, *, is_cluster: bool) -> dict[str, Any]:
    """Draw the MIG layout of a pool."""
    layouts = layouts_of(model)
    manager: dict[str, Any] = {"manager": "host"} if is_cluster and draw(st.booleans()) else {}
    if draw(st.booleans()):
        profile = draw(st.sampled_from([each for each in layouts if len(each) == 1]))
        return {
            "strategy": "single",
            "layout": [{"gpus": "all", "profiles": profile}],
            **manager,
        }
    first = draw(st.integers(1, count))
    layout = [{"gpus": list(range(first)), "profiles": draw(st.sampled_from(layouts))}]
    if first < count:
        others: list[dict[str, int]] = [{}, *layouts[:50]]
        other = draw(st.sampled_from(others))
        layout.append({"gpus": list(range(first, count)), "profiles": other})
    return {"strategy": "mixed", "layout": layout, **manager}


@st.composite
def pools(draw: DrawFn, index: int, name: str, distribution: str) -> dict[str, Any]:
    """Draw a pool of any GPU model."""
    model = draw(st.sampled_from(catalog().gpu_ids()).filter(hosts_of))
    count = draw(st.integers(1, 16))
    pool: dict[str, Any] = {
        "name": name,
        "description": draw(WORDS),
        "gpu": {"model": model, "count": count},
        "hosts": draw(hosts(index)),
        "host": draw(st.sampled_from(hosts_of(model))),
        "labels": draw(LABELS),
        "taints": draw(TAINTS),
    }
    has_mig = draw(st.booleans())
    if has_mig and layouts_of(model):
        row = catalog().distribution(distribution)
        pool["mig"] = draw(mig_settings(model, count, is_cluster=bool(row.kubelet_unit)))
    is_mps = "mig" not in pool and catalog().gpu(model).compute_capability >= (7, 0)
    modes = ["none", "time-slicing", *(["mps"] if is_mps else [])]
    mode = draw(st.sampled_from(modes))
    if mode != "none":
        stated = mig_of(pool.get("mig"), count, ROOT, None)
        offered = sorted(count_devices(count, stated))
        shared = draw(st.lists(st.sampled_from(offered), min_size=1, unique=True))
        most = 16 if mode == "mps" else 100
        pool["sharing"] = {
            "mode": mode,
            "resources": {resource: draw(st.integers(2, most)) for resource in shared},
            "rename": draw(st.booleans()),
        }
    return pool


@st.composite
def components(draw: DrawFn, distribution: str) -> dict[str, Any]:
    """Draw which components are on, and their options."""
    pods = st.fixed_dictionaries(
        {}, optional={"resources": RESOURCES, "annotations": LABELS, "maxUnavailable": SHARES}
    )
    prometheus = st.one_of(
        st.builds(lambda labels: {"selectorLabels": labels}, LABELS),
        st.just({"mode": "scrape-config", "interval": "30s"}),
        st.just({"mode": "static", "alertLabels": {"team": "gpu"}}),
        st.just(False),
    )
    found = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "dcgm-exporter": st.one_of(pods, st.just(False), st.just({"profiling": False})),
                "device-plugin": st.one_of(pods, st.just({"passDeviceSpecs": True})),
                "gpu-feature-discovery": st.one_of(pods, st.just(False)),
                "grafana": st.sampled_from([{}, True, False, {"namespace": "monitoring"}]),
                "node-feature-discovery": st.sampled_from([{}, {"worker": False}, True]),
                "prometheus": prometheus,
                "scheduler": st.sampled_from([{}, {"replicas": 1}, {"weights": {"cpu": 3}}, False]),
                "namespaces": st.builds(lambda labels: {"labels": labels}, LABELS),
            },
        )
    )
    if found.get("dcgm-exporter") is False:
        found.pop("prometheus", None)
    if not catalog().distribution(distribution).has_runtime_class and draw(st.booleans()):
        found["runtime-class"] = {}
    return found


SHARES = st.sampled_from([1, 3, "5%", "100%"])
IMAGES = st.sampled_from(
    [
        {},
        {"registry": "registry.example:5000/mirror"},
        {"pullSecrets": ["a", "b.c-d"], "registry": "r.example"},
        {"digests": {"device-plugin": DIGEST}},
    ]
)
DELIVERY = st.sampled_from(
    [
        {},
        {"engine": "none"},
        {"engine": "argocd", "repoURL": "git@git.example:team/gpu.git", "revision": "v1.2"},
        {
            "engine": "argocd",
            "repoURL": "https://git.example/gpu.git",
            "path": "overlays/x",
            "argocd": {"destination": {"server": "https://api.example:6443"}, "project": "p"},
        },
        {"engine": "flux", "flux": {"sourceRef": {"kind": "OCIRepository", "name": "gpu"}}},
        {"engine": "flux", "repoURL": "ssh://git@git.example/gpu.git", "path": "overlays/x"},
    ]
)
STRATEGIES = st.sampled_from(
    ["envvar", "volume-mounts", "cdi-cri", ["cdi-annotations", "cdi-cri"], ["envvar", "cdi-cri"]]
)


@st.composite
def specs(draw: DrawFn) -> dict[str, Any]:
    """Draw a spec that has to be accepted."""
    distribution = draw(st.sampled_from(DISTRIBUTIONS))
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    found = spec([draw(pools(i, name, distribution)) for i, name in enumerate(names)])
    found["kubernetes"] = {
        "version": draw(st.sampled_from(["1.34", "1.35", "1.36"])),
        "distribution": distribution,
    }
    found["description"] = draw(WORDS)
    found["access"]["nodeNames"] = "fqdn"
    found["components"] = draw(components(distribution))
    found["images"] = draw(IMAGES)
    found["delivery"] = draw(DELIVERY)
    found["deviceListStrategy"] = draw(STRATEGIES)
    found["namespaces"] = draw(
        st.sampled_from([{}, {"agents": "gpu"}, {"agents": "a", "controllers": "c"}])
    )
    return found


ANY: SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=10), inner, max_size=3)
    ),
    max_leaves=5,
)
