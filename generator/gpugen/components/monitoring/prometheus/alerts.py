"""The alerts, rows of alerts.yaml: which of them a cluster has, and which series feed them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from gpugen.catalog import reading
from gpugen.components.monitoring import metrics
from gpugen.model.spec import ClusterSpec

Rule: TypeAlias = dict[str, Any]  # as Prometheus reads it
_RECORDED = re.compile(r"\bgpugen:\w+:\w+")


class Alert(NamedTuple):
    """One row. alternatives: expressions, one of which has to hold; lasts: empty fires at once."""

    name: str
    severity: str
    alternatives: tuple[str, ...]
    lasts: str
    annotations: Mapping[str, str]  # may hold Prometheus' own templates
    needs: str  # a component; empty: none

    def read(self, exported: frozenset[str]) -> tuple[str, ...]:
        """Return the expressions that these series of an exporter can feed."""
        return tuple(text for text in self.alternatives if metrics.read_by(text) <= exported)

    def rule(self, exported: frozenset[str], labels: Mapping[str, str]) -> Rule:
        """Return the rule as Prometheus reads it; labels: the user's own."""
        return {
            "alert": self.name,
            "expr": "\nor\n".join(self.read(exported)),
            **({"for": self.lasts} if self.lasts else {}),
            "labels": {**labels, "severity": self.severity},
            "annotations": dict(self.annotations),
        }


@cache
def rows() -> tuple[Alert, ...]:
    """Read all alerts that gpugen knows."""
    text = Path(__file__).with_name("alerts.yaml").read_text(encoding="utf-8")
    return tuple(
        Alert(
            name=row["alert"],
            severity=row["severity"],
            alternatives=tuple(row["any"]),
            lasts=row.get("for", ""),
            annotations={key: row[key] for key in ("summary", "description", "runbook")},
            needs=row.get("needs", ""),
        )
        for row in reading.parse(text)
    )


def of_cluster(spec: ClusterSpec) -> Iterator[Alert]:
    """Yield the alerts that follow from the components and what their options leave exported.

    Not from the pools: two changes of two pools never meet in one file.
    """
    exportable = metrics.exportable(spec)
    for alert in rows():
        if (not alert.needs or alert.needs in spec.options) and alert.read(exportable):
            yield alert


def live(spec: ClusterSpec, exported: frozenset[str], recorded: frozenset[str]) -> Iterator[Alert]:
    """Yield the alerts that something in this cluster could raise.

    exported: series of its exporters; recorded: series of its pools' and its own rules.
    """
    for alert in of_cluster(spec):
        if any(set(_RECORDED.findall(text)) <= recorded for text in alert.read(exported)):
            yield alert
