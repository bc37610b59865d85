"""Checks of the dashboards."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec


@check("grafana-without-prometheus", "GG-17", severity=Severity.WARNING, component="grafana")
def without_prometheus(spec: ClusterSpec) -> Iterator[Problem]:
    """The dashboards read labels that our scrape sets, and series that our rules record.

    With another scrape configuration the labels ``pool`` and ``node`` may be missing, and all
    panels about GPUs stay empty. What the spec predicts is recorded by the rules alone, so there is
    no dashboard of capacity.
    """
    if "prometheus" not in spec.options:
        yield Problem(
            at=spec.at / "components" / "grafana",
            message="dashboards without the component prometheus: none of capacity, and the labels"
            " that they read may be missing",
            hint="add prometheus to components, or set the labels pool and node in your own"
            " scrape configuration",
        )
