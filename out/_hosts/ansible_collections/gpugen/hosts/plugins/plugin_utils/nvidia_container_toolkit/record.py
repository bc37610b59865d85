# Copyright: the gpugen authors. Apache-2.0.
"""What was there before us: written once, read by removal (CTK-21)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from . import containerd, packages
from .containerd import Containerd
from .view import Host, merged, nice


def recorded(host: Host) -> dict[str, Any] | None:
    """Return the record; None where there is none."""
    path = host.own("record")
    if not host.file(path):
        return None
    found: dict[str, Any] = json.loads(host.text(path))
    return found


def before(known: Containerd) -> dict[str, Any]:
    """Return what is there, for the record of a host that has none."""
    host = known.host
    is_import = host.mode == "import"
    root, daemon = host.file(host.option("root")), host.file(host.option("docker_config"))
    return {
        "packages": host.packages,
        "folder": bool(host.paths(host.folder)),
        "root": dict(root) if is_import else {},
        "imported": is_import and containerd.is_imported(known),
        "root_written": known.root.with_ours if is_import else "",
        "docker": dict(daemon) if host.has("docker") else {},
    }


def text(known: Containerd) -> str:
    """Return the record as it is written first."""
    return nice(before(known))


def text_with_former(known: Containerd) -> str:
    """Return the record with what leaves of former toolkits (CTK-04)."""
    host = known.host
    left: Mapping[str, Any] = {
        "packages": {name: host.packages[name] for name in packages.leftovers(host)},
        "hooks": {path: dict(host.file(path)) for path in packages.hooks(host)},
    }
    return nice(merged(recorded(host) or before(known), {"removed": left}))
