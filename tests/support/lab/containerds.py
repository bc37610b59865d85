"""Private daemons of containerd: what a configuration means to them, and if they live by it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 60  # seconds
# Main files of a site: a private registry, a runtime of its own, cgroups of systemd.
VERSION_2 = """\
# Kept by the site.
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.lab.example/pause:3.10"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.kata]
    runtime_type = "io.containerd.kata.v2"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "/etc/containerd/certs.d"
"""
VERSION_3 = """\
# Kept by the site.
version = 3
[plugins."io.containerd.cri.v1.images"]
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "registry.lab.example/pause:3.10"
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
    SystemdCgroup = true
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.kata]
  runtime_type = "io.containerd.kata.v2"
"""
# In mounts of its own: /run, /opt, /var/lib and /etc as the machine has them, and nothing stays.
SPACE = """
mount -t tmpfs none /run
mkdir /run/up /run/work /run/lib
mount -t overlay -o lowerdir=/etc,upperdir=/run/up,workdir=/run/work none /etc
mount --bind /run/lib /var/lib
[ ! -d /opt ] || mount -t tmpfs none /opt
"$0" --config "$1" --root /run/root --state /run/state --address /run/c.sock >/run/log 2>&1 &
daemon=$!
tries=0
until "$2" --address /run/c.sock --connect-timeout 1s plugins ls 2>/dev/null; do
  tries=$((tries + 1))
  kill -0 $daemon 2>/dev/null && [ $tries -lt 100 ] || { tail -3 /run/log >&2; exit 1; }
  sleep 0.1
done
kill $daemon
wait $daemon || true
"""
CRI = re.compile(r"^io\.containerd\.(?:grpc\.v1 +cri|cri\.v1 +\S+) .*?(\S+) *$", re.M)


@dataclass(frozen=True, slots=True)
class Containerd:
    """One containerd. client: a ctr of any version."""

    program: Path
    client: Path

    def default(self) -> str:
        """Return the configuration that it prints as its default."""
        return self._run("config", "default").stdout

    def dump(self, root: Path) -> dict[str, Any] | None:
        """Return what a main file means to it, None where it refuses."""
        if not root.exists():
            return tomllib.loads(self.default())
        done = self._run("--config", str(root), "config", "dump", status=None)
        return tomllib.loads(done.stdout) if done.returncode == 0 else None

    def states(self, root: Path) -> set[str]:
        """Start it with a main file; return the states of its CRI plugins, none if it ends."""
        script = ["/bin/sh", "-euc", SPACE, str(self.program), str(root), str(self.client)]
        done = subprocess.run(
            ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--", *script],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return set(CRI.findall(done.stdout))

    def _run(self, *words: str, status: int | None = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [self.program, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert status is None or done.returncode == status, done.stderr
        return done


def unmet() -> str:
    """Return what this machine is missing to start a private daemon, empty if nothing."""
    if os.geteuid() != 0:
        return "root"
    return "" if shutil.which("unshare") else "unshare"


def lost(before: Any, after: Any, path: str = "") -> list[str]:
    """Return the settings that were there before and are not there, or not the same, after."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [x for key in before for x in lost(before[key], after.get(key), f"{path}/{key}")]
    return [] if before == after or path.endswith("/imports") else [path]


def runtimes(dump: dict[str, Any]) -> dict[str, Any]:
    """Return the runtimes that the CRI may start."""
    plugins = dump["plugins"]
    section = plugins.get("io.containerd.cri.v1.runtime") or plugins["io.containerd.grpc.v1.cri"]
    found: dict[str, Any] = section["containerd"]["runtimes"]
    return found
