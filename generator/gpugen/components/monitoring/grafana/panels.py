"""Builders of Grafana's dashboards as plain data.

Source: grafana/grafana v11 kinds/dashboard/dashboard_kind.cue and the panels' own kinds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

Panel: TypeAlias = dict[str, Any]

SCHEMA_VERSION = 39  # Grafana 11.0; newer ones migrate when they read
WIDTH = 24  # columns of a dashboard
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


def query(expression: str, legend: str = "", *, is_table: bool = False) -> dict[str, Any]:
    """Return one query of a panel; a table shows the latest values only."""
    result: dict[str, Any] = {"datasource": DATASOURCE, "expr": expression}
    if is_table:
        return {**result, "format": "table", "instant": True, "range": False}
    return {**result, "legendFormat": legend, "range": True}


def time_series(title: str, queries: Iterable[dict[str, Any]], unit: str, **limits: int) -> Panel:
    """Return a graph over time; limits: ``min`` and ``max`` of the axis."""
    panel = _panel("timeseries", title, queries, unit)
    panel["fieldConfig"]["defaults"] |= {
        **limits,
        "custom": {"drawStyle": "line", "fillOpacity": 5, "showPoints": "never"},
    }
    panel["options"] = {
        "legend": {
            "calcs": ["mean", "max"],
            "displayMode": "table",
            "placement": "bottom",
            "showLegend": True,
        },
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return panel


def stat(title: str, expression: str, unit: str = "none") -> Panel:
    """Return one number, the latest."""
    panel = _panel("stat", title, [query(expression)], unit)
    panel["options"] = {
        "colorMode": "value",
        "graphMode": "area",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "textMode": "auto",
    }
    return panel


def table(title: str, columns: Sequence[tuple[str, str]], labels: Sequence[str]) -> Panel:
    """Return a table of the latest values, joined by labels.

    columns: heading and PromQL of each column of values. labels: label columns, in order.
    """
    queries = [query(expression, is_table=True) for _, expression in columns]
    panel = _panel("table", title, queries, "none")
    values = {f"Value #{_letter(i)}": heading for i, (heading, _) in enumerate(columns)}
    if len(columns) == 1:
        values = {"Value": columns[0][0]}
    order = [*labels, *values]
    panel["fieldConfig"]["defaults"]["custom"] = {"filterable": True}
    panel["options"] = {"cellHeight": "sm", "showHeader": True}
    panel["transformations"] = [
        {"id": "merge", "options": {}},
        {
            "id": "organize",
            "options": {
                "excludeByName": {"Time": True},
                "indexByName": {name: place for place, name in enumerate(order)},
                "renameByName": values,
            },
        },
    ]
    return panel


def repeated(panel: Panel, variable: str, per_row: int) -> Panel:
    """Return a panel that Grafana draws once for each value of a variable."""
    return {**panel, "repeat": variable, "repeatDirection": "h", "maxPerRow": per_row}


def _panel(kind: str, title: str, queries: Iterable[dict[str, Any]], unit: str) -> Panel:
    targets = [{**item, "refId": _letter(i)} for i, item in enumerate(queries)]
    return {
        "type": kind,
        "title": title,
        "datasource": DATASOURCE,
        "targets": targets,
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
    }


def _letter(index: int) -> str:
    """Return the name of a query: A to Z, then AA and so on."""
    first, second = divmod(index, 26)
    return (chr(64 + first) if first else "") + chr(65 + second)


def laid_out(rows: Iterable[tuple[int, Sequence[Panel]]]) -> str:
    """Return the JSON of panels placed row by row, equally wide, one panel to a line.

    rows: height and panels of each.
    """
    placed: list[Panel] = []
    y = 0
    for height, panels in rows:
        for i, panel in enumerate(panels):
            width = WIDTH // len(panels)
            grid = {"h": height, "w": width, "x": i * width, "y": y}
            placed.append({**panel, "gridPos": grid, "id": len(placed) + 1})
        y += height if panels else 0
    return "[\n" + ",\n".join(map(_compact, placed)) + "\n]"


def datasource_variable() -> dict[str, Any]:
    """Return the variable by which the reader chooses a Prometheus."""
    return {
        "name": "datasource",
        "label": "Prometheus",
        "type": "datasource",
        "query": "prometheus",
        "refresh": 1,
        "hide": 0,
        "includeAll": False,
        "multi": False,
        "options": [],
    }


def label_variable(name: str, series: str) -> dict[str, Any]:
    """Return a variable whose values are those of the label of its name."""
    definition = f"label_values({series}, {name})"
    return {
        **_choice(name),
        "type": "query",
        "datasource": DATASOURCE,
        "definition": definition,
        "query": {"qryType": 1, "query": definition, "refId": f"variable-{name}"},
        "refresh": 2,
        "sort": 1,
        "options": [],
    }


def _choice(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": name.capitalize(),
        "hide": 0,
        "includeAll": True,
        "allValue": ".*",
        "multi": True,
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


def dashboard(
    uid: str,
    title: str,
    description: str,
    variables: Sequence[dict[str, Any]],
    panels: str,
) -> str:
    """Return the JSON of a dashboard; uid has at most 40 characters, panels is their JSON."""
    content = {
        "uid": uid,
        "title": title,
        "description": description,
        "tags": ["gpu", "gpugen"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": False,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": []},
        "templating": {"list": list(variables)},
    }
    lines = [f"{json.dumps(key)}: {_compact(value)}" for key, value in sorted(content.items())]
    return "{" + ",\n".join([*lines, f'"panels": {panels}']) + "}\n"


def _compact(value: object) -> str:
    return json.dumps(value, sort_keys=True)
