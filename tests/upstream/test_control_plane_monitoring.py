"""The real Prometheus finds the exporters of a rendered cluster, scrapes them, and evaluates rules.

The exporters' pods are those that the real controllers make of the rendered DaemonSets; their text
is played from the rendered ConfigMaps. Pools of every kind: whole, MIG, shared, old, new.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen.model.assembly import Assembly
from gpugen.model.spec import ClusterSpec, NodePool
from gpugen.render.simulation import nodes as simulated
from support.lab import exporter, prometheus
from support.lab.cluster.api import Api
from support.lab.cluster.containers import token
from support.lab.cluster.delivery import Delivery
from support.lab.cluster.fixtures import GROUP
from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import wait_until
from support.lab.cluster.trees import Item
from support.monitoring_faults import POOLS, example, fatal_xid
from support.monitoring_series import Series, cluster, gpu_series, nodes, panels, state

pytestmark = [
    pytest.mark.xdist_group(GROUP),
    pytest.mark.usefixtures("controllers", "kwok", "scheduler"),
]

STATE = "kube-state-metrics"
SICK = "plain-01"
SELECTORS = ("vectorSelector", "matrixSelector")
EMPTY_WHERE_ALL_IS_WELL = "gpugen:node_layout:waiting"  # its own query is among the tested ones
PODS = "/api/v1/namespaces/gpu-agents/pods"
ACCOUNT = "monitoring"
RIGHTS = """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: monitoring, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: monitoring, namespace: gpu-agents}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: monitoring, namespace: gpu-agents}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: monitoring}
subjects: [{kind: ServiceAccount, name: monitoring, namespace: default}]
"""  # what the rendered README says that Prometheus needs, and no more


@dataclass(frozen=True, slots=True)
class Watched:
    """A cluster, and the Prometheus that has scraped it a few times."""

    spec: ClusterSpec
    plan: Assembly
    asked: prometheus.Prometheus
    pods: Mapping[str, str]  # node -> address of its exporter

    def label_values(self, job: str, label: str) -> set[str]:
        """Return the values that a label has on the targets of a job."""
        targets = self.asked.ask("targets", state="active")["activeTargets"]
        return {t["labels"][label] for t in targets if t["labels"]["job"] == job}


def _items(plan: Assembly) -> list[Item]:
    objects = [(str(placed.wave), placed.object) for placed in plan.objects]
    objects += [("rights", each) for each in yaml.safe_load_all(RIGHTS)]
    return [
        Item(wave, f"{index}", json.dumps(each).encode(), each)
        for index, (wave, each) in enumerate(objects)
        if each["kind"] != "ServiceMonitor"
    ]


def _addresses(api: Api) -> dict[str, str]:
    pods = [
        pod
        for pod in api.items(PODS)
        if pod["metadata"]["labels"].get("app.kubernetes.io/name") == "dcgm-exporter"
    ]
    return {
        pod["spec"].get("nodeName", ""): pod["status"].get("podIP", "")
        for pod in pods
        if pod["status"].get("phase") == "Running"
    }


def _page(spec: ClusterSpec, plan: Assembly, pool: NodePool, node: str) -> Callable[[float], str]:
    """Return what the exporter of a node says; it knows the fields of its ConfigMap, no other."""
    (csv,) = (
        placed.object["data"]["counters.csv"]
        for placed in plan.objects
        if placed.object["kind"] == "ConfigMap"
        and placed.object["metadata"]["name"] == f"dcgm-exporter-{pool.name}"
    )
    kinds = exporter.fields(csv)
    series = list(gpu_series(spec, pool, node))
    assert {each.name for each in series} == set(kinds)
    if node == SICK:
        series = fatal_xid(series, node)
    samples = [(each.name, _own(each), each.values) for each in series]
    return lambda minute: exporter.text(samples, minute, kinds)


def _own(series: Series) -> dict[str, str]:
    return {k: v for k, v in series.labels.items() if k not in exporter.OF_PROMETHEUS}


def _state_page(spec: ClusterSpec) -> Callable[[float], str]:
    series = [s for pool in spec.pools for s in state(spec, pool) if s.name != "up"]
    samples = [(each.name, each.labels, each.values) for each in series]
    return lambda minute: exporter.text(samples, minute, {})


def _jobs(plan: Assembly, plane: Plane, proxy: str) -> list[dict[str, Any]]:
    """Return the rendered job, with a way to the lab, and one for kube-state-metrics."""
    (job,) = yaml.safe_load(str(plan.files["prometheus/scrape-config.yaml"]))
    for discovery in job["kubernetes_sd_configs"]:
        access = plane.kubeconfig(ACCOUNT, token(plane, "default", ACCOUNT))
        discovery["kubeconfig_file"] = str(access)
    return [
        {**job, "proxy_url": proxy},
        {
            "job_name": STATE,
            "honor_labels": True,
            "proxy_url": proxy,
            "static_configs": [{"targets": [f"{STATE}:8080"]}],
        },
    ]


@pytest.fixture(scope="module")
def watched(
    plane: Plane,
    upstream: Callable[[str], Path],
    crds: Callable[[str], list[Path]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Watched]:
    spec, plan = cluster(*POOLS.values())
    delivery = Delivery(plane.api, crds)
    for node in simulated(spec, plan):
        plane.api.post("/api/v1/nodes", node)
    delivery.apply(_items(plan))
    wanted = {node for pool in spec.pools for node in nodes(pool)}
    wait_until("exporters on every node", lambda: set(_addresses(plane.api)) == wanted)
    pods = _addresses(plane.api)
    with exporter.Exporters() as played:
        for pool in spec.pools:
            for node in nodes(pool):
                played.pages[pods[node]] = _page(spec, plan, pool, node)
        played.pages[STATE] = _state_page(spec)
        files = {
            path.removeprefix("prometheus/"): str(text)
            for path, text in plan.files.items()
            if path.startswith("prometheus/rules/")
        }
        folder = tmp_path_factory.mktemp("prometheus")
        jobs = _jobs(plan, plane, played.address)
        with prometheus.running(upstream("prometheus"), folder, jobs, files) as asked:
            count = f"count(count_over_time(up[1m]) > 3) == {len(wanted) + 1}"
            wait_until("a few scrapes", lambda: asked.has(count))
            wait_until("evaluated rules", lambda: all(_rules(asked)))
            yield Watched(spec, plan, asked, pods)
    delivery.clear()


def _rules(asked: prometheus.Prometheus) -> list[dict[str, Any]]:
    groups = asked.ask("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    return rules if all(rule["health"] != "unknown" for rule in rules) else [{}]


def test_every_exporter_is_found_and_named(watched: Watched) -> None:
    """The targets are the pods of the DaemonSets; node, pool and instance are those of the spec."""
    targets = watched.asked.ask("targets", state="active")["activeTargets"]
    found = [t for t in targets if t["labels"]["job"] == "dcgm-exporter"]
    assert all(t["health"] == "up" for t in found), [t["lastError"] for t in found]
    said = {(t["labels"]["node"], t["labels"]["pool"], t["labels"]["instance"]) for t in found}
    assert said == {(n, p.name, n) for p in watched.spec.pools for n in nodes(p)}
    assert {t["scrapeUrl"] for t in found} == {
        f"http://{address}:9400/metrics" for address in watched.pods.values()
    }


def test_every_rule_is_evaluated(watched: Watched) -> None:
    rules = _rules(watched.asked)
    assert rules
    assert {rule["health"] for rule in rules} == {"ok"}, [r.get("lastError") for r in rules]


def test_only_the_sick_node_alarms(watched: Watched) -> None:
    """One XID on one node; pools of every kind beside it are silent, waiting alerts included."""
    alerts = watched.asked.ask("alerts")["alerts"]
    expected = set(example("a fatal XID").alerts)
    assert {alert["labels"]["alertname"] for alert in alerts} == expected
    assert {alert["labels"]["node"] for alert in alerts} == {SICK}


def _queries(watched: Watched) -> Iterator[tuple[str, str]]:
    for rule in _rules(watched.asked):
        yield rule["name"], rule["query"]
    yield from panels(watched.plan)


def _walk(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for part in tree.values():
            yield from _walk(part)
    elif isinstance(tree, list):
        for part in tree:
            yield from _walk(part)


def _labels(part: dict[str, Any]) -> Iterator[str]:
    """Yield the labels that a part of a query names."""
    if part.get("type") in SELECTORS:
        yield from (m["name"] for m in part["matchers"] if m["name"] != "__name__")
    yield from part.get("grouping") or ()
    matching = part.get("matching") or {}
    yield from matching.get("labels") or ()
    yield from matching.get("include") or ()


def _made(parts: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the labels that a query makes itself."""
    for part in parts:
        if part.get("type") == "call" and part["func"]["name"] == "label_replace":
            yield part["args"][1]["val"]


def test_every_metric_and_label_of_rules_and_panels_exists(watched: Watched) -> None:
    """By Prometheus's own parser, against the series that it scraped."""
    seen, missing = 0, []
    for title, query in _queries(watched):
        parts = list(_walk(watched.asked.ask("parse_query", query=query)))
        names = {part["name"] for part in parts if part.get("type") in SELECTORS} - {""}
        names -= {EMPTY_WHERE_ALL_IS_WELL}
        made = set(_made(parts))
        for name in sorted(names):
            seen += 1
            if not watched.asked.has(name):
                missing.append(f"{title}: no series {name}")
        for label in sorted({label for part in parts for label in _labels(part)} - made):
            seen += 1
            if names and not any(watched.asked.has(f'{name}{{{label}!=""}}') for name in names):
                missing.append(f"{title}: no series of {sorted(names)} has the label {label}")
    assert seen > 100
    assert missing == [], "\n".join(missing)
