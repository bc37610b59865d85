# Copyright: the gpugen authors. Apache-2.0.
"""docker: our runtime in daemon.json, which is the user's; merged deep, and written only if due."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .view import BINARY, RUNTIME, Host, merged, nice, numbers

UNIT = "docker.service"


def daemon(host: Host) -> dict[str, Any] | None:
    """Return what daemon.json says; None where it is no JSON object."""
    try:
        found = json.loads(host.text(host.option("docker_config")).strip() or "{}")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def expected(host: Host) -> dict[str, Any]:
    """Return what daemon.json should say (CTK-12, CTK-15)."""
    found, is_default = daemon(host) or {}, host.option("default_runtime")
    if not is_default and found.get("default-runtime") == RUNTIME:
        found = {key: value for key, value in found.items() if key != "default-runtime"}
    ours: dict[str, Any] = {"runtimes": {RUNTIME: {"args": [], "path": BINARY}}}
    if host.option("enable_cdi"):
        ours["features"] = {"cdi": True}
    if is_default:
        ours["default-runtime"] = RUNTIME
    return merged(found, ours)


def text(host: Host) -> str:
    """Return daemon.json as it should read."""
    return str(host.own("docker_new") or nice(expected(host)))


def is_written(host: Host) -> bool:
    """Tell whether daemon.json says what it should."""
    return (daemon(host) or {}) == expected(host)


def is_known(host: Host) -> bool:
    """Tell whether docker names our runtime.

    Without docker's client nobody asks it; its file and its start then say enough.
    """
    answer = host.said("docker_info")
    if answer["rc"] == 127:
        return True
    return answer["rc"] == 0 and RUNTIME in (json.loads(answer["out"]) or {})


def runs(host: Host) -> bool:
    """Tell whether docker runs."""
    return UNIT in host.running


def is_old(host: Host) -> bool:
    """Tell whether docker does not run, or came up before its file (CTK-19)."""
    changed = float(host.file(host.option("docker_config")).get("mtime", 0))
    return not runs(host) or host.is_older(UNIT, changed)


def is_due(host: Host) -> bool:
    """Tell whether anything is to do."""
    if not host.has("docker"):
        return False
    return not is_written(host) or is_old(host) or not is_known(host)


def interrupts(host: Host) -> list[str]:
    """Say whether a restart of docker ends its containers."""
    is_live = str((daemon(host) or {}).get("live-restore", False)).lower() in {"true", "1", "yes"}
    if runs(host) and is_due(host) and not is_live:
        return ["docker is restarted, which ends its containers (CTK-19)"]
    return []


def faults(host: Host) -> list[str]:
    """Say why the host is refused."""
    if not host.has("docker"):
        return []
    found = []
    if host.is_told("dockerd") and host.said("dockerd")["rc"] != 0:
        found.append("CTK-06: dockerd does not run here; install docker first")
    if daemon(host) is None:
        path = host.option("docker_config")
        words = "is no JSON object; repair it, docker does not start with it either"
        found.append(f"CTK-15: {path} {words}")
    return found


def validation(host: Host) -> str:
    """Return the command that validates daemon.json; dockerd itself can since 23.0."""
    words = host.said("dockerd")["out"].split()
    version = words[words.index("version") + 1] if "version" in words[:-1] else "0"
    if numbers(version)[:2] >= (23, 0):
        return f"{host.own('dockerd')} --validate --config-file=%s"
    return f"{host.seen.get('host', {}).get('python', 'python3')} -m json.tool %s"


def part(host: Host) -> dict[str, Any]:
    """Return what tasks need to know."""
    has_file = bool(host.file(host.option("docker_config")))
    if not host.has("docker"):
        return {"due": False, "has_file": has_file, "validation": validation(host)}
    is_complete = runs(host) and is_known(host)
    words = f"CTK-15: docker does not name our runtime {host.said('docker_info')['err'][-600:]}"
    return {
        "due": is_due(host),
        "is_written": is_written(host),
        "has_file": has_file,
        "is_restart_due": is_old(host) or not is_known(host),
        "runs": runs(host),
        "complaint": "" if is_complete else words,
        "validation": validation(host),
    }


class Removal:
    """daemon.json without our entries (CTK-21)."""

    def __init__(self, host: Host, recorded: Mapping[str, Any] | None) -> None:
        self.found = daemon(host) or {}
        self.former: Mapping[str, Any] = (recorded or {}).get("docker", {})
        self.is_recorded = recorded is not None

    @property
    def has_ours(self) -> bool:
        """Tell whether our runtime is in it."""
        ours = self._table("runtimes").get(RUNTIME, {})
        return isinstance(ours, dict) and ours.get("path", "") == BINARY

    @property
    def goes(self) -> bool:
        """Tell whether there was none before us."""
        return self._is_untouched and not self.former

    @property
    def text(self) -> str:
        """As it was, byte by byte, where it says what it said then; else less our entries."""
        return str(self.former.get("text", "")) if self._is_untouched else nice(self.less)

    @property
    def less(self) -> dict[str, Any]:
        """What it says without our entries."""
        cdi = set() if "cdi" in self._origin.get("features", {}) else {"cdi"}
        default = self.found.get("default-runtime", "")
        parts: dict[str, Any] = {
            "runtimes": _without(self._table("runtimes"), {RUNTIME}),
            "features": _without(self._table("features"), cdi),
            "default-runtime": "" if default == RUNTIME else default,
        }
        kept = {name: value for name, value in parts.items() if value}
        return {**_without(self.found, set(parts)), **kept}

    def _table(self, name: str) -> dict[str, Any]:
        found = self.found.get(name, {})
        return found if isinstance(found, dict) else {}

    @property
    def _origin(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.former.get("text", "").strip() or "{}")
        return found

    @property
    def _is_untouched(self) -> bool:
        return self.is_recorded and self.less == self._origin


def _without(table: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in names}
