# Copyright: the gpugen authors. Apache-2.0.
"""Taints: those of others stay; ours are remembered in an annotation, to be removed again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .node import Node

NOTE = "gpugen/taints"
Taint = dict[str, Any]


class Taints(NamedTuple):
    """What is due about taints. found, expected: names such as key:NoSchedule, sorted."""

    is_due: bool
    found: list[str]
    expected: list[str]
    patch: list[dict[str, Any]]


def compare(node: Node, stated: Iterable[Mapping[str, str]]) -> Taints:
    """Compare the node's taints with the spec's."""
    own = [_taint(each) for each in stated]
    names = sorted(map(_name, own))
    noted = node.notes.get(NOTE, "")
    ours = {*filter(None, noted.split(",")), *names}
    new = [each for each in node.taints if _name(each) not in ours] + own
    differs = [each for each in node.taints if each not in new]
    differs += [each for each in new if each not in node.taints]
    return Taints(
        is_due=bool(differs) or noted != ",".join(names),
        found=sorted(map(_name, node.taints)),
        expected=names,
        patch=_patch(node, new, ",".join(names)),
    )


def _name(taint: Mapping[str, str]) -> str:
    return f"{taint['key']}:{taint['effect']}"


def _taint(stated: Mapping[str, str]) -> Taint:
    """Return a taint as the API writes it: no key for an empty value."""
    value = {"value": stated["value"]} if stated.get("value") else {}
    return {"key": stated["key"], "effect": stated["effect"], **value}


def _patch(node: Node, new: list[Taint], names: str) -> list[dict[str, Any]]:
    """Return a patch that the API server refuses if somebody changed the taints meanwhile."""
    if node.taints:
        guard = {"op": "test", "path": "/spec/taints", "value": node.taints}
    else:
        version = node.object.get("metadata", {}).get("resourceVersion", "")
        guard = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
    path = "/metadata/annotations/" + NOTE.replace("/", "~1")
    note: list[dict[str, Any]] = []
    if names:
        note = [{"op": "add", "path": path, "value": names}]
    elif NOTE in node.notes:
        note = [{"op": "remove", "path": path}]
    folder = [{"op": "add", "path": "/metadata/annotations", "value": {}}]
    has_folder = bool(node.notes) or not note
    return [
        guard,
        {"op": "add", "path": "/spec/taints", "value": new},
        *([] if has_folder else folder),
        *note,
    ]
