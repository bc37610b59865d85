# Copyright: the gpugen authors. Apache-2.0.
"""What is asked of a host: once where it is as expected, again where something is due."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import config, containerd, devices, packages, smoke
from .view import (
    BINARY,
    CDI_FILE,
    CDI_UNITS,
    FORMER,
    HOOKS,
    LEFTOVER,
    LOCKS,
    PACKAGES,
    PREFERENCES,
    RULES,
    TOML,
    Host,
)

# What the main file says without our import, where that is a line of its own: a second round less.
LESS_LINE = 'grep -avxF -e "$1" "$2" | "$3" --config /dev/stdin config dump'


def questions(wanted: Mapping[str, Any], seen: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything that is to be known in view of what was seen so far."""
    host = Host(seen, wanted)
    return {
        "files": _files(host),
        "globs": _globs(host),
        "packages": [*PACKAGES, *FORMER],
        "units": _units(host),
        "commands": {
            **_always(host),
            **config.question(host),
            **_of_containerd(host),
            **_of_crio(host),
            **_of_docker(host),
            **(packages.questions(host) if host.own("asks_repositories") and seen else {}),
            **(smoke.questions(host) if host.own("smokes") else {}),
        },
    }


def _files(host: Host) -> list[str]:
    always = [PREFERENCES, LOCKS, RULES, TOML, host.own("record"), *HOOKS]
    own = [host.option("docker_config")]
    if host.has("containerd"):
        own += [host.option(name) for name in ("root", "dropin", "effective", "default_file")]
    if host.has("crio") or host.wanted.get("state") == "absent":
        own.append(host.option("crio_dropin"))
    return [*always, *(path for path in own if path)]


def _globs(host: Host) -> list[str]:
    folders = [host.folder, host.glob]
    if host.wanted.get("state") == "absent":
        folders.append(f"{host.folder}/*")
    return [LEFTOVER, CDI_FILE, *folders, devices.module_file(host), devices.link(host)]


def _units(host: Host) -> list[str]:
    of_containerd = host.option("services") if host.has("containerd") else []
    others = [f"{name}.service" for name in ("crio", "docker") if host.has(name)]
    return [*of_containerd, *others, *CDI_UNITS]


def _always(host: Host) -> dict[str, list[str]]:
    socket = f"{host.option('kubelet_root')}/device-plugins/kubelet.sock"
    effective = str(host.option("effective"))
    asked = {
        "rivals": ["grep", "-rls", "nvidia.com/gpu", "/etc/cdi"],
        "binary": ["stat", "--format=%Z", BINARY],
        "kubelet": ["grep", "-F", socket, f"{host.own('procfs')}/net/unix"],
        "described": ["find", CDI_FILE, "-newercc", "/usr/bin/nvidia-ctk"],
    }
    if host.mode == "detect":  # templates with a table that the distribution makes itself (DIST-03)
        table = r"runtimes[.][\"']?nvidia[\"']?\]"
        stem = effective.removesuffix(".toml")
        names = [f"{effective}.tmpl", f"{stem}-v3.toml.tmpl"]
        asked["templates"] = ["grep", "-lsE", table, *names]
    return asked


def _of_containerd(host: Host) -> dict[str, Any]:
    if host.mode != "import":
        return {}
    program, root = host.own("containerd"), host.option("root")
    line = containerd.import_line(host)
    asked: dict[str, Any] = {
        "containerd": [program, "--version"],
        "dump": [program, "--config", root, "config", "dump"],
        "less_line": ["sh", "-c", LESS_LINE, "sh", line, root, program],
        "plugins": [host.own("ctr"), "--address", host.option("socket"), "plugins", "ls"],
    }
    text = containerd.root_text(host)
    said = containerd.root_of(host, text)
    if host.is_told("containerd") and containerd.bare_of(host, text, said) is None:
        argv = [program, "--config", "/dev/stdin", "config", "dump"]
        asked["bare"] = {"argv": argv, "stdin": said.without_ours}
    return asked


def _of_crio(host: Host) -> dict[str, list[str]]:
    if not host.has("crio"):
        return {}
    program = host.own("crio")
    return {"crio": [*program, "--version"], "crio_config": [*program, "config"]}


def _of_docker(host: Host) -> dict[str, list[str]]:
    if not host.has("docker"):
        return {}
    info = ["docker", "info", "--format", "{{json .Runtimes}}"]
    return {"dockerd": [host.own("dockerd"), "--version"], "docker_info": info}
