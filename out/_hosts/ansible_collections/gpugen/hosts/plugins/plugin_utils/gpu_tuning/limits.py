# Copyright: the gpugen authors. Apache-2.0.
"""Limits of the container runtime, and services that must start anew (TUN-06, TUN-08)."""

from __future__ import annotations

import json

from ..common import seen as answers
from . import places
from .host import Host

DOCKER = "docker.service"


def text(own: Host) -> str:
    """Return what a service's file of limits should say; empty where there should be none."""
    if not own.has_limits:
        return ""
    lines = [f"LimitMEMLOCK={own.memlock}\n"] if own.memlock else []
    lines += [f"LimitNOFILE={own.nofile}\n"] if own.nofile > 0 else []
    return f"{places.HEAD}[Service]\n{''.join(lines)}"


def due(own: Host) -> list[str]:
    """Return services whose file of limits is not as it should be."""
    runtimes, expected = own.runtimes, text(own).strip()
    found = {name: answers.text(own.seen, places.limits_file(name)) for name in own.services}
    return [
        name
        for name, limits in found.items()
        if limits.strip() != (expected if name in runtimes else "")
    ]


def stale(own: Host) -> list[str]:
    """Return services that run since before the file that they read when they start."""
    readers = [(name, places.limits_file(name)) for name in own.services]
    if own.pages_2mi >= 0:
        readers += [(name, places.SYSCTL_FILE) for name in own.kubelets]
    return list(dict.fromkeys(name for name, path in readers if _is_older(own, name, path)))


def _is_older(own: Host, name: str, path: str) -> bool:
    is_active = answers.unit(own.seen, name)["ActiveState"] == "active"
    is_there = answers.exists(own.seen, path)
    return (
        is_active and is_there and answers.mtime(own.seen, path) > answers.started(own.seen, name)
    )


def outdated(own: Host) -> list[str]:
    """Return services that do not run with what they should have read."""
    return list(dict.fromkeys([*due(own), *stale(own)]))


def restarts(own: Host) -> list[str]:
    """Return services that are to be restarted."""
    return [name for name in outdated(own) if own.is_loaded(name)]


def ending(own: Host) -> list[str]:
    """Return which restart ends containers: docker's, without live-restore, alone does."""
    is_active = answers.unit(own.seen, DOCKER)["ActiveState"] == "active"
    if DOCKER not in restarts(own) or _is_live(own) or not is_active:
        return []
    return ["limits of docker: its restart ends all containers, since live-restore is off"]


def _is_live(own: Host) -> bool:
    try:
        found = json.loads(answers.text(own.seen, places.DOCKER_FILE) or "{}")
    except ValueError:
        return False
    return isinstance(found, dict) and found.get("live-restore") is True
