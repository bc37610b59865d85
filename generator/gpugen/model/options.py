"""Options of the components that others ask about, as the spec states them or by default.

A component's record has the fields of its ``options.schema.json``, in their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

Resources: TypeAlias = Mapping[str, Any]  # requests and limits of a container


class DevicePlugin(NamedTuple):
    """NVIDIA's device plugin."""

    pass_device_specs: bool
    resources: Resources
    annotations: Mapping[str, str]
    max_unavailable: int | str
    version: str = ""  # empty: the release's


class NfdResources(NamedTuple):
    """Resources of the three programs of node feature discovery."""

    master: Resources
    worker: Resources
    gc: Resources


class NodeFeatureDiscovery(NamedTuple):
    """Node feature discovery, ours or the cluster's own."""

    mode: str  # own, existing
    worker: bool
    sources: tuple[str, ...]
    sleep_interval: str
    extended_resources: bool
    resources: NfdResources
    annotations: Mapping[str, str]
    max_unavailable: int | str


class MetricRow(NamedTuple):
    """A line that the spec adds to the exporter's list of metrics."""

    field: str
    type: str  # gauge, counter, label
    help: str


class MetricChanges(NamedTuple):
    """What the spec changes in the exporter's list of metrics."""

    add: tuple[MetricRow, ...]
    remove: tuple[str, ...]


class WebConfig(NamedTuple):
    """TLS and login of the exporter, and how Prometheus meets them."""

    secret: str
    scheme: str  # https, http
    server_name: str | None
    basic_auth: bool
    scrape_secret: str | None


class DcgmExporter(NamedTuple):
    """NVIDIA's DCGM exporter."""

    interval: str
    profiling: bool | None  # None: where nothing else measures an instance
    pod_labels: tuple[str, ...]
    per_pod_usage: bool
    metrics: MetricChanges
    web_config: WebConfig | None
    resources: Resources
    annotations: Mapping[str, str]
    max_unavailable: int | str


class Prometheus(NamedTuple):
    """How the user's Prometheus is told what to scrape, and of which alerts."""

    mode: str  # service-monitor, scrape-config, static
    selector_labels: Mapping[str, str] | None
    namespace: str | None
    interval: str | None
    scrape_timeout: str | None
    without_alerts: tuple[str, ...]
    alert_labels: Mapping[str, str]


class Guardrails(NamedTuple):
    """Admission policies for workloads."""

    mode: str  # off, warn, enforce
    exempt_namespaces: tuple[str, ...]
    complete: bool
    tolerated_taints: tuple[str, ...]
    other_resources: tuple[str, ...]
    without_rules: tuple[str, ...]

    @property
    def is_off(self) -> bool:
        """Tell whether nothing is rendered."""
        return self.mode == "off"


class Weights(NamedTuple):
    """How much kinds of resources count when nodes are compared."""

    gpu: int
    cpu: int
    memory: int


class Scheduler(NamedTuple):
    """The scheduler that packs GPUs."""

    bin_packing: bool
    mode: str  # auto, main, second
    scheduler_name: str
    weights: Weights
    score_weight: int
    replicas: int
    resources: Resources
    annotations: Mapping[str, str]
