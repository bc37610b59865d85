# Copyright: the gpugen authors. Apache-2.0.
"""Reads what was seen on a host; what was not asked, or is not there, is empty."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import Any

Seen = Mapping[str, Any]
NO_UNIT = {"LoadState": "", "ActiveState": "", "UnitFileState": "", "ActiveEnterTimestamp": ""}
NO_ANSWER = {"rc": 127, "out": "", "err": ""}
ENABLED = ("enabled", "enabled-runtime")
RUNNING = ("active", "reloading")


def text(seen: Seen, path: str) -> str:
    """Return what a file holds."""
    return str((seen.get("files", {}).get(path) or {"text": ""})["text"])


def exists(seen: Seen, path: str) -> bool:
    """Tell whether a file is there."""
    return seen.get("files", {}).get(path) is not None


def mtime(seen: Seen, path: str) -> int:
    """Return when a file was written, in whole seconds; 0 where there is none."""
    return int((seen.get("files", {}).get(path) or {"mtime": 0})["mtime"])


def record(seen: Seen, path: str) -> dict[str, Any]:
    """Return what a role noted about the host before its first change.

    Raises ValueError: the file is not JSON.
    """
    found: dict[str, Any] = json.loads(text(seen, path) or "{}")
    return found


def found(seen: Seen, pattern: str) -> list[str]:
    """Return the paths that match a pattern of file names."""
    return list(seen.get("globs", {}).get(pattern, ()))


def packages(seen: Seen) -> dict[str, str]:
    """Return the versions of installed packages, by name."""
    return {name: own["version"] for name, own in seen.get("packages", {}).items()}


def command(seen: Seen, name: str) -> dict[str, Any]:
    """Return rc, out and err of a command."""
    return {**NO_ANSWER, **seen.get("commands", {}).get(name, {})}


def unit(seen: Seen, name: str) -> dict[str, str]:
    """Return the states of a unit."""
    return {**NO_UNIT, **seen.get("units", {}).get(name, {})}


def runs(seen: Seen, name: str) -> bool:
    """Tell whether a unit runs."""
    return unit(seen, name)["ActiveState"] in RUNNING


def is_enabled(seen: Seen, name: str) -> bool:
    """Tell whether a unit starts at boot."""
    return unit(seen, name)["UnitFileState"] in ENABLED


def started(seen: Seen, name: str) -> int:
    """Return when a unit became active, in seconds since 1970; 0 where it never did."""
    stamp = unit(seen, name)["ActiveEnterTimestamp"]
    if not stamp:
        return 0
    moment = datetime.datetime.strptime(stamp.partition(" ")[2], "%Y-%m-%d %H:%M:%S UTC")
    return int(moment.replace(tzinfo=datetime.UTC).timestamp())


def host(seen: Seen, name: str) -> str:
    """Return a fact that every probe brings: os_release, kernel, architecture, pkg_mgr."""
    return str(seen.get("host", {}).get(name, ""))
