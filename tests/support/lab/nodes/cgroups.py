"""Control groups of the nodes: each its own, or the systemd instances inside would fight.

Where systemd runs this machine, it makes a scope per node; elsewhere the lab makes the groups.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

FOLDER = "gpugen-hosts"
PATIENCE = 5.0  # seconds; a group is busy until the last of its processes is reaped


def has_systemd() -> bool:
    """Tell whether this machine is run by systemd."""
    return Path("/run/systemd/system").is_dir()


def make(name: str) -> list[Path]:
    """Make the groups of a node, one in each hierarchy that systemd uses."""
    groups = [root / FOLDER / f"{os.getpid()}-{name}" for root in _hierarchies()]
    for group in groups:
        group.mkdir(parents=True, exist_ok=True)
    return groups


def remove(group: Path) -> None:
    """Remove a group and those in it as soon as their processes are gone."""
    end = time.monotonic() + PATIENCE
    for folder, _, _ in os.walk(group, topdown=False):
        while Path(folder).is_dir():
            try:
                Path(folder).rmdir()
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)


def sweep() -> None:
    """Remove what runs have left that were killed."""
    for root in _hierarchies():
        for group in (root / FOLDER).glob("*-*"):
            if not Path("/proc", group.name.partition("-")[0]).exists():
                with contextlib.suppress(OSError):
                    remove(group)


def _hierarchies() -> list[Path]:
    """Return where the unified hierarchy and systemd's own are mounted."""
    if has_systemd():
        return []
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [
        Path(target)
        for _, target, kind, options, *_ in mounts
        if kind == "cgroup2" or (kind == "cgroup" and "name=systemd" in options.split(","))
    ]
