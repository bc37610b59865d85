# Copyright: the gpugen authors. Apache-2.0.
"""What leaves with the role, and how what was there before looked (CTK-21)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from . import containerd, devices, docker, locks, record
from .containerd import Containerd
from .view import CDI_FILE, CDI_UNITS, LOCKS, PACKAGES, PREFERENCES, RULES, Host


class Leaving(NamedTuple):
    """What the role did to a host. recorded: what was there before it; None if nobody knows."""

    known: Containerd
    recorded: dict[str, Any] | None

    @property
    def host(self) -> Host:
        """The host."""
        return self.known.host

    @property
    def foreign(self) -> Mapping[str, Any]:
        """Packages that were there before."""
        found: Mapping[str, Any] = (self.recorded or {}).get("packages", {})
        return found


def packages(leaving: Leaving) -> list[str]:
    """List the packages that this role installed."""
    if leaving.recorded is None:
        return []
    found = leaving.host.packages
    return [name for name in PACKAGES if name in found and name not in leaving.foreign]


def released(leaving: Leaving) -> list[str]:
    """List packages that were there before, and not held."""
    free = {name for name, state in leaving.foreign.items() if not state.get("held")}
    found = leaving.host.packages
    return sorted(name for name in free if found.get(name, {}).get("held"))


def is_import_leaving(leaving: Leaving) -> bool:
    """Our import leaves, unless it was there before us or draws in files of others."""
    known, recorded = leaving.known, leaving.recorded or {}
    if not containerd.is_imported(known) or recorded.get("imported", False):
        return False
    return (
        not containerd.neighbours(known.host) or known.host.option("dropin") in known.root.imports
    )


def _is_untouched(leaving: Leaving) -> bool:
    recorded = leaving.recorded
    return recorded is not None and leaving.known.root_text == recorded["root_written"]


def root_text(leaving: Leaving) -> str:
    """The main file as it was, where nobody changed it since; else less our import."""
    recorded = leaving.recorded or {}
    if _is_untouched(leaving):
        return str(recorded["root"].get("text", ""))
    return leaving.known.root.without_ours


def is_root_absent(leaving: Leaving) -> bool:
    """Tell whether there was no main file before."""
    return _is_untouched(leaving) and not (leaving.recorded or {"root": {}})["root"]


def _files(leaving: Leaving) -> list[str]:
    """List the files that are ours alone."""
    host = leaving.host
    candidates = {
        "import": [host.option("dropin")],
        "merge": [host.option("dropin")],
        "detect": [path for path in [host.option("default_file")] if path],
    }.get(host.mode, [])
    return [path for path in candidates if host.file(path)]


def _is_folder_leaving(leaving: Leaving) -> bool:
    host, recorded = leaving.host, leaving.recorded
    others = [path for path in host.paths(f"{host.folder}/*") if path != host.option("dropin")]
    return (
        host.mode == "import"
        and recorded is not None
        and not recorded["folder"]
        and not others
        and bool(host.paths(host.folder))
    )


def _of_containerd(leaving: Leaving) -> dict[str, Any]:
    host, files = leaving.host, _files(leaving)
    is_import = host.mode == "import"
    leaves = is_import and is_import_leaving(leaving)
    is_root_leaving = leaves and is_root_absent(leaving)
    is_detected = host.mode == "detect" and containerd.is_effective(host)
    return {
        "files": files,
        "folder": host.folder if _is_folder_leaving(leaving) else "",
        "is_root_leaving": is_root_leaving,
        "is_root_restored": leaves and not is_root_leaving,
        "is_restart_due": is_import and (bool(files) or leaves),
        "is_detection_due": is_detected and containerd.service(host) != "",
    }


def _of_devices(leaving: Leaving) -> dict[str, Any]:
    host, gone = leaving.host, packages(leaving)
    units = host.seen.get("units", {})
    loaded = [name for name in CDI_UNITS if units.get(name, {}).get("LoadState") == "loaded"]
    described = [CDI_FILE] if gone else []
    files = [RULES, *described] if devices.is_ruled(host) or gone else []
    return {"units": loaded if gone else [], "files": files}


def part(known: Containerd) -> dict[str, Any]:
    """Return what tasks need to know."""
    host = known.host
    leaving = Leaving(known, record.recorded(host))
    daemon = docker.Removal(host, leaving.recorded)
    free = released(leaving) if host.is_apt else []
    return {
        "containerd": _of_containerd(leaving),
        "crio": bool(host.file(host.option("crio_dropin"))),
        "docker": host.has("docker") and daemon.has_ours,
        "is_daemon_leaving": daemon.goes,
        "devices": _of_devices(leaving),
        "packages": packages(leaving),
        "release": ["apt-mark", "unhold", *free] if free else [],
        "pin": [PREFERENCES] if host.is_apt and host.file(PREFERENCES) else [],
        "locks": [] if host.is_apt else locks.block(host.text(LOCKS)),
        "record": host.own("record") if leaving.recorded is not None else "",
    }


def texts(known: Containerd) -> dict[str, str]:
    """Return files as they are to read; they may hold logins."""
    host = known.host
    leaving = Leaving(known, record.recorded(host))
    return {
        "root": root_text(leaving),
        "daemon": docker.Removal(host, leaving.recorded).text,
    }


def is_due(found: Mapping[str, Any]) -> bool:
    """Tell whether anything is to be removed."""
    parts = (*found["containerd"].values(), *found["devices"].values())
    names = ("crio", "docker", "packages", "release", "pin", "locks", "record")
    return any(parts) or any(found[name] for name in names)
