"""Pools of every kind, and the examples of the alerts' rows: what goes wrong, and what fires."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gpugen.catalog import reading
from gpugen.components.monitoring import prometheus
from support.monitoring_series import FOREVER, Series

MIXED = {"strategy": "mixed", "layout": [{"gpus": "all", "profiles": {"3g.20gb": 1, "2g.10gb": 2}}]}


def _pool(name: str, model: str, count: int, **more: Any) -> dict[str, Any]:
    gpu = {"model": model, "count": count}
    return {"name": name, "gpu": gpu, "hosts": [f"{name}-[01:02].example"], **more}


def _slices(resource: str, replicas: int) -> dict[str, Any]:
    return {"mode": "time-slicing", "resources": {resource: replicas}, "rename": True}


POOLS = {
    "plain": _pool("plain", "a100-sxm4-40gb", 2),
    "hgx": _pool("hgx", "h100-sxm5-80gb", 8),
    "rack": _pool("rack", "b200", 2),
    "old": _pool("old", "p100-pcie-16gb", 2),
    "mig": _pool("mig", "a100-sxm4-40gb", 2, mig=MIXED),
    "shared": _pool("shared", "t4", 2, sharing=_slices("nvidia.com/gpu", 4)),
    "mps": _pool("mps", "l4", 1, sharing={"mode": "mps", "resources": {"nvidia.com/gpu": 4}}),
    "mig-shared": _pool(
        "mig-shared", "a100-sxm4-40gb", 2, mig=MIXED, sharing=_slices("nvidia.com/mig-2g.10gb", 2)
    ),
}


class Example(NamedTuple):
    """What happens to the first node of some pools, and which alerts fire then."""

    name: str
    pools: Sequence[str]
    alerts: Sequence[str]
    minutes: int
    changes: Sequence[Mapping[str, Any]]

    def apply(self, healthy: list[Series], node: str) -> list[Series]:
        """Return the series of a pool after what happens to one of its nodes."""
        series = healthy
        for change in self.changes:
            series = _applied(series, change, node)
        lasting = f"x{max(240, self.minutes + 40)}"
        return [s._replace(values=s.values.replace(FOREVER, lasting)) for s in series]


def _applied(series: list[Series], change: Mapping[str, Any], node: str) -> list[Series]:
    """Return the series after one change; a series that nobody has is added."""
    name, _, rest = change["series"].partition("{")
    labels = dict(re.findall(r'(\w+)="([^"]*)"', rest))
    pool = node.rpartition("-")[0]
    labels = {k: v.replace("$node", node).replace("$pool", pool) for k, v in labels.items()}
    values, extra = change["values"], change.get("labels", {})
    found = [s for s in series if s.has(name or s.name, **labels)]
    those = {id(s) for s in found}
    if not found:
        assert not {"node", "daemonset"} & labels.keys(), f"no series {change['series']}"
        return [*series, Series(name, labels, values)]
    kept = series if change.get("beside") else [s for s in series if id(s) not in those]
    return [*kept, *(Series(s.name, {**s.labels, **extra}, values) for s in found)]


@cache
def examples() -> tuple[Example, ...]:
    """Return the examples of all rows."""
    text = Path(prometheus.__file__).with_name("alerts.yaml").read_text("utf-8")
    return tuple(
        Example(
            name=each["name"],
            pools=each["pools"],
            alerts=each.get("alerts", [row["alert"]]),
            minutes=each.get("minutes", 90),
            changes=each["input_series"],
        )
        for row in reading.parse(text)
        for each in row["examples"]
    )


def example(name: str) -> Example:
    """Return the one example of a name."""
    (found,) = (each for each in examples() if each.name == name)
    return found


def fatal_xid(series: list[Series], node: str) -> list[Series]:
    """Return the series after a fatal XID, in the gauge and in the count."""
    for name in ("a fatal XID", "a fatal XID is counted"):
        series = example(name).apply(series, node)
    return series
