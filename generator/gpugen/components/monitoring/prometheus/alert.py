"""One alert: what fires it, and what it says to the person who is woken."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from gpugen.gpu import metrics

ALLOW_LIST = f"--metric-labels-allowlist=nodes=[{','.join(metrics.NODE_LABELS)}]"
"""The option of kube-state-metrics without which no rule finds a node."""


class Level(StrEnum):
    """How soon somebody should look."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Alert(NamedTuple):
    """A rule before it is spelled. Texts may hold Prometheus' own templates.

    lasts: how long the expression must hold; empty fires at once. labels: what the series do not
    carry themselves.
    """

    name: str
    level: Level
    expression: str
    lasts: str
    summary: str
    description: str
    runbook: str
    labels: tuple[tuple[str, str], ...] = ()

    def rule(self, labels: Mapping[str, str]) -> dict[str, Any]:
        """Return the rule as Prometheus reads it; labels: the user's own."""
        result: dict[str, Any] = {"alert": self.name, "expr": self.expression}
        if self.lasts:
            result["for"] = self.lasts
        result["labels"] = {**labels, "severity": str(self.level), **dict(self.labels)}
        result["annotations"] = {
            "summary": self.summary,
            "description": self.description,
            "runbook": self.runbook,
        }
        return result


def either(exported: frozenset[str], *alternatives: str) -> str:
    """Join the expressions whose series are all exported; empty where none is."""
    kept = [text for text in alternatives if metrics.read_by(text) <= exported]
    return "\nor\n".join(kept)
