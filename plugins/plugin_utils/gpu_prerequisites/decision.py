# Copyright: the gpugen authors. Apache-2.0.
"""Decides what the role has to do on a host."""

from __future__ import annotations

from typing import Any

from ..common import seen as read
from ..common.packages import refresh
from . import repositories, updates
from .faults import faults
from .headers import headers
from .host import RECORD, Host, Seen, Wanted, gpus, record, recorded, view
from .packages import Packages, fault, leftover, new, packages, removal_fault, transaction
from .questions import TURN


def decide(seen: Seen, wanted: Wanted) -> dict[str, Any]:
    """Return what to refuse, what verification finds, and what is due."""
    host = view(seen, wanted)
    return _absent(host) if wanted.get("state") == "absent" else _present(host)


def _present(host: Host) -> dict[str, Any]:
    own, refused = packages(host), faults(host)
    files = _files(host)
    is_as_expected = not any(files.values()) and not own.is_plugin
    has_headers = not host.own("headers") or not headers(host).missing
    return {
        "faults": refused,
        "shortfalls": refused + _shortfalls(host, is_as_expected=is_as_expected),
        "interrupts": _interrupts(host, own),
        # The turn that a killed run left is ended, if that run has.
        "due": not is_as_expected or not has_headers or bool(read.found(host.seen, TURN)),
        "reboot_due": own.kernel_changes and bool(headers(host).newer_kernels),
        "files_due": any(files.values()),
        **files,
        "folders": _folders(host),
        "packages_due": not has_headers,
        **_packages(host, own, refused),
        **_facts(host),
    }


def _files(host: Host) -> dict[str, Any]:
    keyed, _dummy = repositories.keys(host)
    exclusions = updates.file(host)
    named = [{**own, "mode": "0644"} for own in repositories.files(host, keyed)]
    return {
        "files": [*([exclusions] if exclusions else []), *named],
        "key_files": repositories.due_keys(host, keyed),
        "stale": repositories.stale(host),
    }


def _folders(host: Host) -> list[str]:
    return [repositories.KEYRINGS] if host.manager == "apt" and host.repositories else []


def _shortfalls(host: Host, *, is_as_expected: bool) -> list[str]:
    found = []
    missing = headers(host).missing if host.own("headers") else []
    if missing:
        found.append(f"PRE-04: headers are missing: {', '.join(missing)}")
    if not is_as_expected:
        found.append(
            "PRE-06: a repository, its key or the exclusions from automatic updates are not as the "
            "spec says; run site.yml"
        )
    return found


def _interrupts(host: Host, own: Packages) -> list[str]:
    if not own.kernel_changes:
        return []
    return [f"kernel {host.kernel} has no headers and makes way for a newer one"]


def _packages(host: Host, own: Packages, refused: list[str]) -> dict[str, Any]:
    """Return what the tasks about packages read; nothing is simulated on a host that is refused."""
    is_checking, by_apt = bool(host.wanted.get("check_mode")), host.manager == "apt"
    return {
        "plugin_due": own.is_plugin and not is_checking,
        "missing": headers(host).missing if host.own("headers") else [],
        "expected": own.expected,
        "by_apt": by_apt,
        "by_dnf": host.manager == "dnf",
        "refresh_due": bool(own.missing and own.unavailable),
        "refresh": refresh(host.manager),
        "packages_fault": "; ".join(refused) or fault(host, own),
        "record": {"path": RECORD, "content": record(recorded(host.seen) + new(host))},
        "transaction": transaction(host, own.expected) if by_apt and own.expected else [],
        # A kernel that takes over is one that our own lock would keep out.
        "dnf_state": "latest" if own.kernel_changes else "present",
        "dnf_without": ["versionlock"] if own.kernel_changes else [],
    }


def _facts(host: Host) -> dict[str, Any]:
    devices = gpus(read.command(host.seen, "pci")["out"])
    return {
        "has_turn": bool(read.found(host.seen, TURN)),
        "facts": {"kernel": host.kernel, "gpus": len(devices)},
    }


def _absent(host: Host) -> dict[str, Any]:
    exclusions = updates.file(host)
    names = leftover(host) if host.manager == "apt" else recorded(host.seen)
    own = [
        path for name in repositories.names(host) for path in repositories.paths(host.manager, name)
    ]
    own += [RECORD] if host.manager == "dnf" else [RECORD, updates.APT_FILE]
    present = [path for path in own if host.has(path)]
    refused = removal_fault(host)
    return {
        "faults": [refused] if refused else [],
        "shortfalls": [],
        "interrupts": [],
        "due": bool(names or exclusions or present),
        "reboot_due": False,
        "expected": names,
        "by_apt": bool(names) and host.manager == "apt",
        "by_dnf": bool(names) and host.manager == "dnf",
        "files": [exclusions] if exclusions else [],
        "stale": present,
        **_facts(host),
    }
