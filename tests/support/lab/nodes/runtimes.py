"""Machines with other runtimes than Debian's containerd: docker, CRI-O, and those of distributions.

Daemons are stand-ins: real ones need cgroups and networks of their own. What checks files is real:
dockerd of Debian, and CRI-O itself.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from support.lab.nodes.machine import Machine
from support.lab.nodes.standins import text

SOURCE = "Types: deb\nURIs: http://10.77.0.1:8080/debian12/x86_64/\nSuites: /\nTrusted: yes\n"
WANTS = "etc/systemd/system/multi-user.target.d/runtimes.conf"
DOCKER = {  # what its administrator wrote
    "features": {"buildkit": True},
    "log-driver": "json-file",
    "registry-mirrors": ["https://registry.lab.example"],
    "runtimes": {"kata": {"path": "kata-runtime"}},
}
DAEMON_JSON = json.dumps(DOCKER, indent=4) + "\n"
CRIO = """\
[crio.runtime]
default_runtime = "crun"
[crio.runtime.runtimes.crun]
runtime_path = "/usr/libexec/crio/crun"
monitor_path = "/usr/libexec/crio/conmon"
allowed_annotations = ["io.containers.trace-syscall"]
"""
CRIO_STARTS = "/bin/sh -c 'crio config >/run/crio.toml && exec sleep infinity'"


def _unit(name: str, command: str) -> dict[str, str]:
    """Return a service that starts at boot."""
    return {
        "etc/apt/sources.list.d/lab.sources": SOURCE,
        f"etc/systemd/system/{name}.service": f"[Service]\nExecStart={command}\n",
        WANTS: f"[Unit]\nWants={name}.service\n",
    }


def docker(dockerd: Path) -> Machine:
    """Return a machine with docker beside containerd. dockerd: a folder with the real one."""
    files = {
        "etc/docker/daemon.json": DAEMON_JSON,
        "usr/local/sbin/fake-dockerd": text("runtimes/fake-dockerd"),
        "usr/bin/docker": text("runtimes/docker"),
        **_unit("docker", "/usr/local/sbin/fake-dockerd"),
    }
    return Machine(files=files, layer=dockerd)


def crio(program: Path, toolkit: Path, folder: Path) -> Machine:
    """Return a machine with CRI-O.

    program: CRI-O. toolkit: the real nvidia-ctk. folder: new, for a copy of both.
    """
    for source, place in ((program, "usr/bin/crio"), (toolkit, "usr/local/libexec/nvidia-ctk")):
        (folder / place).parent.mkdir(parents=True)
        shutil.copy(source, folder / place)
    files = {"etc/crio/crio.conf.d/10-crun.conf": CRIO, **_unit("crio", CRIO_STARTS)}
    return Machine(files=files, layer=folder)


def k3s() -> Machine:
    """Return an agent of k3s."""
    program = "usr/local/bin/k3s-agent"
    client = {"usr/local/bin/k3s": text("runtimes/k3s")}
    own = {program: text("runtimes/k3s-agent"), **client}
    return Machine(files={**own, **_unit("k3s-agent", f"/{program}")})


def k0s() -> Machine:
    """Return a worker of k0s 1.36."""
    program = "usr/local/bin/k0s-worker"
    own = {"etc/k0s/containerd.toml": "# k0s_managed=true\nversion = 3\n"}
    unit = _unit("k0sworker", f"/{program}")
    return Machine(files={program: text("runtimes/k0s-worker"), **own, **unit})
