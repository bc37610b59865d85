# Copyright: the gpugen authors. Apache-2.0.
"""All faults at once, what is due, what differs from what is expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import config, containerd, crio, devices, docker, packages, record, removal, smoke
from .containerd import Containerd
from .faults import faults
from .view import TOML, Host


def decide(seen: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the role has to do; texts of files only where the task's result is hidden."""
    host = Host(seen, wanted)
    known = containerd.read(host)
    return _absent(known) if wanted.get("state") == "absent" else _present(known)


def _present(known: Containerd) -> dict[str, Any]:
    host = known.host
    is_config_due = config.is_due(host) and not packages.is_pending(host)
    parts = {
        "record": {"due": record.recorded(host) is None, "path": host.own("record")},
        "packages": packages.part(host),
        "hooks": {"due": bool(packages.hooks(host)), "paths": packages.hooks(host)},
        "config": {"due": is_config_due, "argv": config.command(host)},
        "containerd": containerd.part(known),
        "crio": crio.part(host),
        "docker": docker.part(host),
        "devices": devices.part(host),
    }
    return {
        "faults": faults(known),
        "shortfalls": shortfalls(known),
        "interrupts": interrupts(host),
        "due": any(part["due"] for part in parts.values()),
        "reboot_due": False,
        "facts": facts(known),
        **parts,
        "removal": {},  # where the role is to be removed
        "smoke": smoke.part(host),
        "texts": _texts(known) if host.is_silent else {},
    }


def _absent(known: Containerd) -> dict[str, Any]:
    found = removal.part(known)
    return {
        "faults": [],
        "shortfalls": [],
        "interrupts": [],
        "due": removal.is_due(found),
        "reboot_due": False,
        "facts": facts(known),
        "containerd": containerd.part(known),
        "docker": docker.part(known.host),
        "packages": {"manager": packages.manager(known.host)},
        "removal": found,
        "texts": removal.texts(known) if known.host.is_silent else {},
    }


def _texts(known: Containerd) -> dict[str, str]:
    """Return files as they are to read; they may hold logins of registries and proxies."""
    host = known.host
    root, daemon = host.option("root"), host.option("docker_config")
    return {
        "record": record.text(known),
        "record_with_former": record.text_with_former(known),
        "dropin": known.expected,
        "default": containerd.default_text(host),
        "root": known.root.with_ours,
        "root_before": host.text(root),
        "daemon": docker.text(host),
        "daemon_before": host.text(daemon),
    }


def interrupts(host: Host) -> list[str]:
    """Say why the host must be emptied of work first; empty where nobody is interrupted."""
    old = packages.old(host)
    leaving = [f"{', '.join(old)} of a former toolkit leaves (CTK-04)"] if old else []
    return docker.interrupts(host) + leaving


def shortfalls(known: Containerd) -> list[str]:
    """Say what a converged host would not show."""
    host = known.host
    version, missing = host.option("version"), packages.missing(host)
    found = []
    if missing:
        words = f"not installed at {version} (nvidia_container_toolkit_version)"
        found.append(f"CTK-01: {', '.join(missing)} {words}")
    if packages.is_due(host):
        found.append(f"CTK-03: the packages are not pinned to {version}; run the play")
    if old := packages.old(host):
        found.append(f"CTK-04: {', '.join(old)} of a former toolkit is there; run the play")
    if config.is_due(host):
        found.append(f"CTK-16: {TOML} says something else (nvidia_container_toolkit_config)")
    found += devices.shortfalls(host)
    found += containerd.shortfalls(known)
    if crio.is_due(host):
        found.append(
            "CTK-14: CRI-O does not run with the runtime nvidia as it is written; run the play"
        )
    if docker.is_due(host):
        found.append(
            "CTK-15: docker does not run with the runtime nvidia as it is written; run the play"
        )
    return found + smoke.shortfalls(host)


def facts(known: Containerd) -> dict[str, Any]:
    """Return what the host says about itself, for reports."""
    host = known.host
    return {
        "containerd_major": known.major,
        "containerd_service": containerd.service(host),
        "is_loaded": devices.is_loaded(host),
        "former": packages.old(host),
    }
