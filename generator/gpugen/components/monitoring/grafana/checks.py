"""Checks of the dashboards."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec


@check("grafana-without-prometheus", "GG-17", severity=Severity.WARNING, component="grafana")
def without_prometheus(spec: ClusterSpec) -> Iterator[Problem]:
    """The dashboards read the labels ``pool`` and ``node``, which our scrape configuration sets.

    With another scrape configuration these labels may be missing, and all panels about GPUs stay
    empty.
    """
    if "prometheus" not in spec.options:
        yield Problem(
            at=spec.at / "components" / "grafana",
            message="dashboards without the component prometheus: the labels that they read may"
            " be missing",
            hint="add prometheus to components, or set the labels pool and node in your own"
            " scrape configuration",
        )
