"""Checks of NetworkPolicies."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.components.devices.network_policies import (
    NAME,
    Options,
    exporters_in_pod_network,
    scrapers,
)
from gpugen.kube import exporters
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec


@check("network-policy-scrape-open", severity=Severity.WARNING, component=NAME)
def scrape_open(spec: ClusterSpec) -> Iterator[Problem]:
    """Every pod of the cluster can read the exporter's metrics, which name pods and namespaces.

    The policy admits only the namespace of Prometheus, if the spec states it.
    """
    if exporters.NAME not in spec.options or not exporters_in_pod_network(spec):
        return
    if not scrapers(spec, spec.own(Options)):
        yield Problem(
            at=spec.at / "components" / NAME,
            message=f"port {exporters.PORT} of the exporters is open to every pod of the cluster",
            hint="write components.prometheus.namespace, or components: "
            "{network-policies: {scrapeFrom: [monitoring]}}",
        )


@check("network-policy-scrape-without-effect", "GG-18", component=NAME)
def scrape_without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """No NetworkPolicy applies to an exporter in the host's network, or if there is no exporter."""
    is_guarded = exporters.NAME in spec.options and exporters_in_pod_network(spec)
    if spec.own(Options).scrape_from and not is_guarded:
        yield Problem(
            at=spec.at / "components" / NAME / "scrapeFrom",
            message="scrapeFrom has no effect: no exporter listens in the pod network",
            hint="remove it; restrict access to the exporters in the hosts' firewall",
        )


@check("network-policy-network-wrong", component=NAME)
def network_wrong(spec: ClusterSpec) -> Iterator[Problem]:
    """The API server rejects a network that is not valid CIDR or has host bits set."""
    for i, text in enumerate(spec.own(Options).api_server.networks):
        try:
            ipaddress.ip_network(text)
        except ValueError:
            yield Problem(
                at=spec.at / "components" / NAME / "apiServer" / "networks" / i,
                message=f"{text} is not a valid network (CIDR)",
                hint="write its first address and prefix length, such as 10.0.0.0/24 or"
                " 10.96.0.1/32",
            )
