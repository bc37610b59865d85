# Copyright: the gpugen authors. Apache-2.0.
"""The answers of a host that is just as its variables say; no probe is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from . import config, containerd, crio, devices, docker, packages, record
from .view import (
    BINARY,
    CDI_UNITS,
    LOCKS,
    PACKAGES,
    PREFERENCES,
    RULES,
    RUNTIME,
    TOML,
    Host,
)

SINCE = "Thu 1970-01-01 00:01:00 UTC"
ACTIVE = {
    "LoadState": "loaded",
    "ActiveState": "active",
    "UnitFileState": "enabled",
    "ActiveEnterTimestamp": SINCE,
}
TABLE = f'[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.{RUNTIME}'

DUMP = f'version = 3\n{TABLE}.options]\nBinaryName = "{BINARY}"\n'


def described(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what would be seen on a host that is as expected."""
    host = Host(_plain(wanted), wanted)
    files = host.seen["files"]
    if host.mode == "import":
        files[host.option("root")] = _file(f"{containerd.import_line(host)}\nversion = 3\n")
    if host.mode in {"import", "merge"}:
        files[host.option("dropin")] = _file(containerd.read(host).expected)
    if host.option("default_file"):
        files[host.option("default_file")] = _file(containerd.default_text(host))
    if host.has("crio"):
        files[host.option("crio_dropin")] = _file(crio.text(host))
    if host.has("docker"):
        files[host.option("docker_config")] = _file(docker.text(host))
    files[host.own("record")] = _file(record.text(containerd.read(host)))
    return dict(host.seen)


def _file(text: str) -> dict[str, Any]:
    return {"text": text, "mtime": 0.0}


def _plain(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return all answers but those that are made of others."""
    host = Host({}, wanted)
    version = host.option("version")
    services = host.option("services") if host.has("containerd") else []
    runtimes = [f"{name}.service" for name in ("crio", "docker") if host.has(name)]
    locks = "\n".join(packages.lock_lines(host))
    name = "nvidia_container_toolkit"
    return {
        "host": {"pkg_mgr": "apt"},
        "packages": {name: {"version": f"{version}-1", "held": True} for name in PACKAGES},
        "units": dict.fromkeys([*services[:1], *runtimes, *CDI_UNITS], ACTIVE),
        "globs": {host.folder: [host.folder], devices.link(host): [devices.link(host)]},
        "files": {
            PREFERENCES: _file(packages.preferences(host)),
            LOCKS: _file(f"# BEGIN gpugen {name}\n{locks}\n# END gpugen {name}\n"),
            RULES: _file(devices.RULE),
            TOML: _file("\n".join(config.stated(host))),
            **_of_distribution(host),
        },
        "commands": _commands(host),
    }


def _of_distribution(host: Host) -> dict[str, Any]:
    effective = host.option("effective")
    return {effective: _file(DUMP)} if effective else {}


def _commands(host: Host) -> dict[str, Any]:
    default = RUNTIME if host.option("default_runtime") else "crun"
    merged = f'[crio.runtime]\ndefault_runtime = "{default}"\n'
    merged += f'[crio.runtime.runtimes.{RUNTIME}]\nruntime_path = "{BINARY}"\n'
    outputs = {
        "binary": "0",
        "containerd": "containerd containerd.io v2.0.0",
        "dump": DUMP,
        "less_line": "version = 3\n",
        "plugins": "io.containerd.cri.v1 runtime - ok\n",
        "crio": "crio version 1.30.0",
        "crio_config": merged,
        "dockerd": "Docker version 27.0.0, build x",
        "docker_info": json.dumps({RUNTIME: {"path": BINARY}}),
    }
    said = {name: {"rc": 0, "out": text, "err": ""} for name, text in outputs.items()}
    return {**said, **config.answer(host)}
