"""Prometheus: how it scrapes the exporters, and the alert rules; the server itself is the user's.

Objects of the Prometheus operator, or plain files below prometheus/; what a pool has of its own
stands in a file of its own.
Source: prometheus-operator v0.85.0 api monitoring/v1; Prometheus v3.15 configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gpugen import kube
from gpugen.components import Component, Options
from gpugen.components.monitoring.prometheus import scrape
from gpugen.components.monitoring.prometheus.alert import Alert
from gpugen.components.monitoring.prometheus.hardware import hardware_alerts
from gpugen.components.monitoring.prometheus.pools import cluster_alerts, pool_alerts
from gpugen.components.monitoring.prometheus.readme import readme
from gpugen.gpu import metrics
from gpugen.model.assembly import Contribution, Placed, Wave
from gpugen.model.spec import ClusterSpec

NAME = "gpugen"  # of rule groups and rule objects; a pool's carry its name behind it
FOLDER = "prometheus"


def contribute(spec: ClusterSpec, options: Options) -> Contribution:
    """Return the objects of the operator, or the files for the other modes."""
    groups = rule_groups(spec, options)
    if options["mode"] == "service-monitor":
        return Contribution(
            objects=tuple(_objects(spec, options, groups)),
            files={f"{FOLDER}/README.md": readme(spec, options)},
        )
    return Contribution(files=_files(spec, options, groups))


def every_alert(spec: ClusterSpec) -> Iterator[Alert]:
    """Yield the alerts of the cluster and of every pool, wanted or not."""
    exported = {pool.name: metrics.exported(spec, pool) for pool in spec.pools}
    yield from cluster_alerts(spec)
    yield from hardware_alerts(frozenset().union(*exported.values()))
    for pool in spec.pools:
        yield from pool_alerts(spec, pool, exported[pool.name])


def rule_groups(spec: ClusterSpec, options: Options) -> dict[str, list[dict[str, Any]]]:
    """Return the rule groups by pool; those of the whole cluster under the empty name."""
    exported = {pool.name: metrics.exported(spec, pool) for pool in spec.pools}
    anywhere = frozenset().union(*exported.values())
    groups = {"": _group(NAME, [*cluster_alerts(spec), *hardware_alerts(anywhere)], options)}
    for pool in spec.pools:
        alerts = pool_alerts(spec, pool, exported[pool.name])
        groups[pool.name] = _group(f"{NAME}-{pool.name}", alerts, options)
    return {pool: [group] for pool, group in groups.items() if group["rules"]}


def _group(name: str, alerts: Iterable[Alert], options: Options) -> dict[str, Any]:
    unwanted = options["withoutAlerts"]
    labels = dict(sorted(options["alertLabels"].items()))
    rules = [alert.rule(labels) for alert in alerts if alert.name not in unwanted]
    return {"name": name, "rules": rules}


def _objects(
    spec: ClusterSpec, options: Options, groups: dict[str, list[dict[str, Any]]]
) -> Iterable[Placed]:
    namespace = options["namespace"] or spec.namespaces.agents
    labels = options["selectorLabels"] or {}
    if metrics.EXPORTER in spec.options:
        yield Placed(Wave.MONITORING, scrape.service_monitor(spec, options))
    for pool, group in groups.items():
        rule = {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": kube.metadata(group[0]["name"], namespace=namespace, labels=labels),
            "spec": {"groups": group},
        }
        yield Placed(Wave.MONITORING, rule, pool)


def _files(
    spec: ClusterSpec, options: Options, groups: dict[str, list[dict[str, Any]]]
) -> dict[str, str]:
    def text(value: object) -> str:
        return kube.header(spec) + kube.to_yaml(value)

    files = {f"{FOLDER}/README.md": readme(spec, options)}
    for name, group in groups.items():
        files[f"{FOLDER}/rules/{name or 'cluster'}.yaml"] = text({"groups": group})
    if metrics.EXPORTER in spec.options:
        files[f"{FOLDER}/scrape-config.yaml"] = text(scrape.scrape_config(spec, options))
        if options["mode"] == "static":
            for pool in spec.pools:
                path = f"{FOLDER}/{scrape.TARGETS}/{pool.name}.yaml"
                files[path] = text(scrape.targets(spec, pool))
    return files


COMPONENT = Component(contribute)
