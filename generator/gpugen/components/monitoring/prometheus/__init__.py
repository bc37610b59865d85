"""Prometheus: how it scrapes the exporters, and the alert rules; the server itself is the user's.

Objects of the Prometheus operator, or plain files below prometheus/. Each pool records what the
spec predicts of it, in a file of its own; the alerts join that and are the same for every pool.
Source: prometheus-operator v0.85.0 api monitoring/v1; Prometheus v3.15 configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gpugen import kube
from gpugen.components import Component
from gpugen.components.monitoring import metrics
from gpugen.components.monitoring.prometheus import alerts, records, scrape
from gpugen.components.monitoring.prometheus.readme import readme
from gpugen.kube import exporters
from gpugen.model.assembly import Contribution, Placed, Wave
from gpugen.model.options import Prometheus
from gpugen.model.spec import ClusterSpec

NAME = "gpugen"  # of rule groups and rule objects; a pool's carry its name behind it
FOLDER = "prometheus"


def contribute(spec: ClusterSpec, options: Prometheus) -> Contribution:
    """Return the objects of the operator, or the files for the other modes."""
    groups = rule_groups(spec, options)
    if options.mode == "service-monitor":
        return Contribution(
            objects=tuple(_objects(spec, options, groups)),
            files={f"{FOLDER}/README.md": readme(spec, options)},
        )
    return Contribution(files=_files(spec, options, groups))


def rule_groups(spec: ClusterSpec, options: Prometheus) -> dict[str, list[dict[str, Any]]]:
    """Return the rule groups by pool; those of the whole cluster under the empty name."""
    groups = {"": _group(NAME, [*records.of_cluster(spec), *_alerts(spec, options)])}
    for pool in spec.pools:
        groups[pool.name] = _group(f"{NAME}-{pool.name}", records.of_pool(spec, pool))
    return groups


def _alerts(spec: ClusterSpec, options: Prometheus) -> Iterator[alerts.Rule]:
    exportable = metrics.exportable(spec)
    labels = dict(sorted(options.alert_labels.items()))
    for alert in alerts.of_cluster(spec):
        if alert.name not in options.without_alerts:
            yield alert.rule(exportable, labels)


def _group(name: str, rules: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": name, "rules": list(rules)}]


def _objects(
    spec: ClusterSpec, options: Prometheus, groups: dict[str, list[dict[str, Any]]]
) -> Iterable[Placed]:
    namespace = options.namespace or spec.namespaces.agents
    labels = options.selector_labels or {}
    if exporters.NAME in spec.options:
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
    spec: ClusterSpec, options: Prometheus, groups: dict[str, list[dict[str, Any]]]
) -> dict[str, str]:
    def text(value: object) -> str:
        return kube.header(spec) + kube.to_yaml(value)

    files = {f"{FOLDER}/README.md": readme(spec, options)}
    for name, group in groups.items():
        files[f"{FOLDER}/rules/{name or 'cluster'}.yaml"] = text({"groups": group})
    if exporters.NAME in spec.options:
        files[f"{FOLDER}/scrape-config.yaml"] = text(scrape.scrape_config(spec, options))
        if options.mode == "static":
            for pool in spec.pools:
                path = f"{FOLDER}/{scrape.TARGETS}/{pool.name}.yaml"
                files[path] = text(scrape.targets(spec, pool))
    return files


COMPONENT = Component(contribute, Prometheus)
