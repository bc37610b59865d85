"""Grafana: two dashboards as ConfigMaps, which the sidecar of the usual charts picks up.

They read the labels ``pool`` and ``node`` that our scrape configuration sets, and the series that
our rules record. They name no pool, so that a change of one changes no dashboard.
Source: grafana/helm-charts charts/grafana (sidecar.dashboards).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gpugen import kube
from gpugen.components import Component
from gpugen.components.monitoring import metrics
from gpugen.components.monitoring.grafana.capacity import capacity_dashboard
from gpugen.components.monitoring.grafana.gpus import gpu_dashboard
from gpugen.model.assembly import Contribution, KubeObject, Placed, Wave
from gpugen.model.spec import ClusterSpec

RECORDER = "prometheus"  # the component whose rules record what the spec predicts


class Options(NamedTuple):
    """What a spec may say of the dashboards."""

    namespace: str | None
    label: Mapping[str, str]
    folder: str | None


def contribute(spec: ClusterSpec, options: Options) -> Contribution:
    """Return the dashboards: capacity needs the recorded series, that of the GPUs the exporter."""
    texts = {}
    if RECORDER in spec.options:
        texts["gpu-capacity"] = capacity_dashboard(spec, _uid(spec, "gpu-capacity"))
    if exportable := metrics.exportable(spec):
        texts["gpus"] = gpu_dashboard(spec, _uid(spec, "gpus"), exportable)
    return Contribution(
        tuple(
            Placed(Wave.MONITORING, _config_map(spec, options, name, text))
            for name, text in texts.items()
        )
    )


def _uid(spec: ClusterSpec, name: str) -> str:
    """Return an id that is stable, and differs between clusters that share a Grafana."""
    return f"gpugen-{name}-{kube.checksum(spec.name)[:12]}"


def _config_map(spec: ClusterSpec, options: Options, name: str, text: str) -> KubeObject:
    """Return a dashboard's ConfigMap; the sidecar writes all files into one folder."""
    item = kube.config_map(
        f"gpugen-{name}",
        options.namespace or spec.namespaces.controllers,
        {f"gpugen-{name}-{spec.name}.json": text},
        labels=options.label,
    )
    if options.folder:
        item["metadata"]["annotations"] = {"grafana_folder": options.folder}
    return item


COMPONENT = Component(contribute, Options)
