"""The README beside the plain files: who takes them, and what they presume."""

from __future__ import annotations

from typing import NamedTuple

from gpugen.components.monitoring import metrics
from gpugen.components.monitoring.prometheus.scrape import secret_folder
from gpugen.kube import exporters
from gpugen.model.options import Prometheus
from gpugen.model.spec import ClusterSpec
from gpugen.text import templates

TEMPLATE = "components/monitoring/prometheus/readme.md.j2"
USUAL_NAMESPACE = "monitoring"


class Label(NamedTuple):
    """A label by which a Prometheus selects objects."""

    key: str
    value: str


class Readme(NamedTuple):
    """What the template receives: one mode, and what there is in it."""

    source: str
    name: str
    by_operator: bool
    by_secret: bool
    by_files: bool
    labels: tuple[Label, ...]
    namespace: str
    agents: str
    port: int
    secret_folder: str
    has_exporter: bool
    allowed: str


def readme(spec: ClusterSpec, options: Prometheus) -> str:
    """Return the text for the mode of the spec."""
    mode = options.mode
    values = Readme(
        source=spec.source,
        name=spec.name,
        by_operator=mode == "service-monitor",
        by_secret=mode == "scrape-config",
        by_files=mode == "static",
        labels=tuple(Label(*pair) for pair in (options.selector_labels or {}).items()),
        namespace=options.namespace or USUAL_NAMESPACE,
        agents=spec.namespaces.agents,
        port=exporters.PORT,
        secret_folder=secret_folder(spec, options),
        has_exporter=exporters.NAME in spec.options,
        allowed=",".join(metrics.NODE_LABELS),
    )
    return templates.render(TEMPLATE, values)
