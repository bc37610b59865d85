"""What differs between a node and the base tree: the upper folder of its overlay."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

QUIET = (  # changes by itself, or says nothing about the host
    *("run/", "tmp/", "var/cache/", "var/log/", "var/tmp/", "var/lib/apt/", "var/lib/containerd/"),
    *("var/lib/systemd/", "var/lib/private/", "var/lib/dbus/", "home/", "root/"),
    *("etc/ssh/", "etc/.pwd.lock/", "var/lib/dpkg/lock/", "var/lib/dpkg/triggers/"),
    "var/lib/dpkg/lock-frontend/",
    *("var/lib/rpm/", "var/lib/dnf/"),
)


def changes(upper: Path, layers: Sequence[Path]) -> dict[str, str]:
    """Return path -> kind, mode and digest of all that is not as in the layers below.

    layers: highest first. What was copied up and is as it was, is no change.
    """
    found = {}
    for folder, names, files in os.walk(upper):
        for name in (*names, *files):
            path = Path(folder, name)
            inside = str(path.relative_to(upper))
            if not f"{inside}/".startswith(QUIET):
                found[inside] = _described(path)
    return {inside: what for inside, what in found.items() if what != _below(inside, layers)}


def _below(inside: str, layers: Sequence[Path]) -> str:
    """Return what lies at a path below the upper folder; empty if nothing."""
    for layer in layers:
        if os.path.lexists(layer / inside):
            return _described(layer / inside)
    return ""


def _described(path: Path) -> str:
    status = path.lstat()
    mode = f"{stat.S_IMODE(status.st_mode):o}"
    if stat.S_ISLNK(status.st_mode):
        return f"link {path.readlink()}"
    if stat.S_ISREG(status.st_mode):
        return f"file {mode} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
    if stat.S_ISDIR(status.st_mode):
        return f"folder {mode}"
    return "gone" if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0 else "special"
