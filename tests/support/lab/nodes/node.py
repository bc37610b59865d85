"""A booted node: systemd under systemd-nspawn on an overlay that ends with its processes."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.lab.cluster.programs import Program, ProgramError
from support.lab.nodes import cgroups
from support.lab.nodes.changes import changes

SCRIPT = Path(__file__).parent / "files" / "boot"
DEPTH = 3  # nested process namespaces: this one, the node's watcher's, the node's
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Switch:
    """The network of the lab: a namespace of its own, held by a process."""

    pid: int
    bridge: str

    def inside(self, command: Sequence[str | Path]) -> list[str]:
        """Return a command line that runs in this network."""
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", "--", *map(str, command)]


class Node:
    """One node that boots."""

    def __init__(
        self, name: str, address: str, switch: Switch, layers: Sequence[Path], folder: Path
    ) -> None:
        """Boot the node. layers: trees, highest first; over them ``dress`` in folder is laid."""
        self.name = name
        self.address = address
        self._groups = cgroups.make(name)
        point = folder / "mnt"
        point.mkdir()
        keep = [] if cgroups.has_systemd() else ["--keep-unit"]
        own = [
            *("unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child"),
            *("--mount-proc", "--", "/bin/sh", SCRIPT),
            *(name, ":".join(map(str, layers)), folder / "dress", point, switch.bridge, *keep),
        ]
        environment = {**os.environ, "GROUPS_OF_NODE": " ".join(map(str, self._groups))}
        self._program = Program(f"node-{name}", switch.inside(own), folder, environment=environment)
        self._point, self._layers = point, tuple(layers)

    def wait(self) -> None:
        """Wait until the node is up. Raises ProgramError: it is not, or not in good health."""
        self._program.wait_for("booted system", self._is_up)

    def run(self, *command: str, text: str = "", status: int | None = 0) -> str:
        """Run a command as the node's root and return what it prints; None takes any status."""
        leader = self._leader()
        assert leader, f"{self.name} is down"
        enter = ["nsenter", f"--target={leader}", "-m", "-u", "-i", "-n", "-p", "--"]
        done = subprocess.run(
            [*enter, "/usr/bin/env", "-i", f"PATH={PATH}", "LC_ALL=C.UTF-8", *command],
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert status is None or done.returncode == status, (command, done.stdout, done.stderr)
        return done.stdout

    def sh(self, script: str, text: str = "") -> str:
        """Run a line of shell as the node's root and return what it prints."""
        return self.run("/bin/sh", "-euc", script, text=text)

    def read(self, path: str) -> str:
        """Return the content of a file that is not on a temporary file system; empty if none."""
        file = self._mounts() / "root" / path.lstrip("/")
        return file.read_text(encoding="utf-8") if file.is_file() else ""

    def changes(self) -> dict[str, str]:
        """Return what differs from the base tree: path -> kind, mode and digest."""
        return changes(self._mounts() / "upper", self._layers)

    def keep(self, folder: Path) -> Path:
        """Copy what differs from the base tree, as a layer for other nodes; return the copy."""
        copy = folder / f"layer-{self.name}"
        upper = self._mounts() / "upper"
        subprocess.run(["cp", "--archive", upper, copy], check=True, timeout=120)
        return copy

    def versions(self) -> dict[str, str]:
        """Return the vendor's installed packages: name -> version, behind ``=`` if it is held."""
        return {n: v for n, v in self.packages().items() if "nvidia" in n or "cuda" in n}

    def packages(self) -> dict[str, str]:
        """Return all installed packages: name -> version, behind ``=`` if it is held."""
        show = ["dpkg-query", "--show", "--showformat=${db:Status-Abbrev}|${Package}|${Version}\n"]
        rows = [line.split("|") for line in self.run(*show).splitlines()]
        return {
            name: ("=" if state[0] == "h" else "") + version
            for state, name, version in rows
            if state[1] == "i"
        }

    def stop(self) -> None:
        """End the node at once; its mounts go with it."""
        self._program.stop()
        for group in self._groups:
            cgroups.remove(group)

    def _mounts(self) -> Path:
        """Return where the node's mounts are seen from this process."""
        first = Path(f"/proc/{self._program.pid}/task/{self._program.pid}/children").read_text()
        return Path(f"/proc/{first.split()[0]}/root{self._point}")

    def _leader(self) -> int:
        """Return the pid of the node's first process, 0 while there is none."""
        todo = [self._program.pid]
        while todo:
            pid = todo.pop()
            try:
                status = Path(f"/proc/{pid}/status").read_text()
                children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            inner = status.partition("NSpid:")[2].partition("\n")[0].split()
            if len(inner) == DEPTH and inner[-1] == "1":
                return pid
            todo += map(int, children)
        return 0

    def _is_up(self) -> bool:
        if not self._leader():
            return False
        state = self.run("systemctl", "is-system-running", "--wait", status=None).strip()
        if state == "degraded":
            failed = self.run("systemctl", "--failed", "--no-legend", status=None)
            raise ProgramError(f"{self.name} is degraded: {failed}")
        return state == "running"


def dress(folder: Path, name: str, address: str, files: Mapping[str, str]) -> None:
    """Write what makes a node of the base tree: name, address, identity, and the given files."""
    own = {
        "etc/hostname": f"{name}\n",
        "etc/machine-id": f"{uuid.uuid5(uuid.NAMESPACE_DNS, name).hex}\n",
        # Sorts before 80-container-host0.network of the vendor, which would win otherwise.
        "etc/systemd/network/10-host0.network": (
            f"[Match]\nName=host0\n[Network]\nAddress={address}/24\n"
            "LinkLocalAddressing=no\nIPv6AcceptRA=no\n"
        ),
        **files,
    }
    for path, content in own.items():
        file = folder / "dress" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        file.chmod(0o755 if "bin/" in path else 0o600 if "ssh_host" in path else 0o644)
