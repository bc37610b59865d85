# Copyright: the gpugen authors. Apache-2.0.
"""The answers of a host that is as its variables say."""

from __future__ import annotations

from typing import Any

from ..common import host as system
from . import repositories, updates
from .headers import APT_HEADERS
from .host import PLUGIN, Host, Wanted, marker, view

KERNEL = "described"  # the release of its kernel, which no spec states
IDS = {name: own for own, name in system.NAMES.items()}


def described(wanted: Wanted) -> dict[str, Any]:
    """Return what such a host would answer."""
    host = view({}, wanted)
    names = [PLUGIN] if host.manager == "dnf" else [APT_HEADERS + KERNEL]
    return {
        "host": _host(host),
        "files": _files(host),
        "globs": {marker(host): []},
        "packages": {name: {"version": "1", "held": False} for name in names},
        "commands": {
            name: {"rc": 0, "out": out, "err": ""} for name, out in _commands(host).items()
        },
    }


def _host(host: Host) -> dict[str, Any]:
    name, _dummy, version = str(host.own("os")).partition("-")
    return {
        "os_release": f"ID={IDS.get(name, name)}\nVERSION_ID={version}\n",
        "kernel": KERNEL,
        "architecture": "aarch64" if host.own("architecture") == "arm64" else "x86_64",
        "pkg_mgr": host.manager,
        "python": "python3",
        "has_dnf": True,
        "systemd": True,
    }


def _commands(host: Host) -> dict[str, str]:
    device = [*(host.own("gpu_devices") or ()), "0000"][0].upper()
    names = ["kernel-devel", *(host.own("header_packages") or ())]
    return {
        "kernel": KERNEL,
        "pci": f"PCI_CLASS=30200\nPCI_ID=10DE:{device}\n" * int(host.own("gpu_count") or 0),
        "sources": "",
        "kernels": "".join(f"{name}|{KERNEL}\n" for name in names),
    }


def _files(host: Host) -> dict[str, Any]:
    texts = {}
    if host.manager == "apt":
        holds = bool(host.own("hold_kernel_updates"))
        texts[updates.APT_FILE] = updates.unattended(holds_kernels=holds)
    for own in repositories.keys(host)[0]:
        path = repositories.repository_path(host.manager, own.name)
        texts[path] = repositories.text(host.manager, own.repository, own.form)
        texts[repositories.key_file(host.manager, own.name, own.form)] = own.text
    return {path: {"text": text, "mtime": 0.0} for path, text in texts.items()}
