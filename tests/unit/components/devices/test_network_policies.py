"""NetworkPolicies: every pod of ours is denied, and what talks gets exactly that back."""

from __future__ import annotations

from typing import Any

import pytest

from gpugen import kube
from gpugen.assemble import assemble
from gpugen.model.assembly import KubeObject
from gpugen.model.spec import ClusterSpec
from support.component_specs import cluster, objects, pod, pool

NAME = "network-policies"
NEW = {"release": "2026.12"}
MIXED = {"strategy": "mixed", "layout": [{"gpus": "all", "profiles": {"1g.5gb": 7}}]}
ALL = {"dcgm-exporter": {}, "scheduler": {"mode": "second"}}


def policies(spec: ClusterSpec) -> dict[tuple[str, str], KubeObject]:
    """Return the policies by namespace and name."""
    return {
        (p.object["metadata"]["namespace"], p.object["metadata"]["name"]): p.object["spec"]
        for p in assemble(spec).objects
        if p.object["kind"] == "NetworkPolicy"
    }


def workloads(spec: ClusterSpec) -> list[KubeObject]:
    return [
        p.object for p in assemble(spec).objects if p.object["kind"] in ("DaemonSet", "Deployment")
    ]


def selects(policy: KubeObject, workload: KubeObject) -> bool:
    wanted = policy["podSelector"]["matchLabels"].items()
    return bool(wanted <= workload["spec"]["template"]["metadata"]["labels"].items())


def test_they_come_with_the_release_or_by_request() -> None:
    assert NAME not in cluster().options
    assert NAME in cluster(**NEW).options
    assert NAME in cluster(components={NAME: {}}).options
    assert NAME not in cluster(components={NAME: False}, **NEW).options


def test_every_pod_is_denied_and_only_who_has_a_token_reaches_the_api_server() -> None:
    spec = cluster(pool("a"), pool("b", mig=MIXED), components=ALL, **NEW)
    found = policies(spec)
    for workload in workloads(spec):
        space = workload["metadata"]["namespace"]
        rules = [rule for (where, _), rule in found.items() if where == space]
        mine = [rule for rule in rules if selects(rule, workload)]
        assert {"Ingress", "Egress"} in [set(rule["policyTypes"]) for rule in mine]
        out = [rule for rule in mine if rule.get("egress")]
        has_token = pod(workload)["automountServiceAccountToken"]
        assert bool(out) is has_token, workload["metadata"]["name"]
        assert all(
            [port["port"] for port in rule["egress"][0]["ports"]] == [443, 6443, 16443]
            for rule in out
        )


@pytest.mark.parametrize(
    ("components", "namespaces"),
    [
        ({}, None),
        ({"prometheus": {"namespace": "watch", "selectorLabels": {}}}, ["watch"]),
        ({NAME: {"scrapeFrom": ["b", "a"]}}, ["a", "b"]),
        (
            {
                NAME: {"scrapeFrom": ["a"]},
                "prometheus": {"mode": "scrape-config", "namespace": "watch"},
            },
            ["a", "watch"],
        ),
    ],
)
def test_who_may_scrape(components: dict[str, Any], namespaces: list[str] | None) -> None:
    (rule,) = policies(cluster(components=components, **NEW))["gpu-agents", "dcgm-exporter"][
        "ingress"
    ]
    assert rule["ports"] == [{"port": 9400, "protocol": "TCP"}]
    if namespaces is None:
        assert "from" not in rule
    else:
        (peer,) = rule["from"]
        assert peer["namespaceSelector"]["matchExpressions"][0]["values"] == namespaces


def test_networks_of_the_api_server_narrow_the_way_out() -> None:
    server = {"ports": [6443], "networks": ["10.96.0.1/32", "10.0.0.0/24"]}
    found = policies(cluster(components={NAME: {"apiServer": server}}, **NEW))
    (rule,) = found["gpu-controllers", "nfd-master"]["egress"]
    assert rule == {
        "ports": [{"port": 6443, "protocol": "TCP"}],
        "to": [{"ipBlock": {"cidr": "10.0.0.0/24"}}, {"ipBlock": {"cidr": "10.96.0.1/32"}}],
    }


def test_nothing_is_claimed_for_pods_in_the_hosts_network() -> None:
    found = policies(cluster(components={"prometheus": {"mode": "static"}}, **NEW))
    assert ("gpu-agents", "dcgm-exporter") not in found


def test_kubernetes_takes_them() -> None:
    made = objects(cluster(**NEW), NAME)
    deny = made["NetworkPolicy/gpugen-deny-all"]["spec"]["podSelector"]["matchLabels"]
    assert deny == {kube.OWNER_LABEL: kube.OWNER}
