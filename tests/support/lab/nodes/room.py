"""The machine room: a network of its own, a package repository on it, and nodes that come and go.

Everything is held by processes that the kernel kills with pytest: no mount, link or bridge stays.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from support.lab.cluster.programs import Program
from support.lab.nodes import base, cgroups, deb, el, machine, standins, ubuntu_standins
from support.lab.nodes.node import Node, Switch, dress
from support.lab.nodes.watches import room_for

BRIDGE = "lab"
NET = "10.77.0"  # private to the namespace, so it clashes with nothing
HERE = f"{NET}.1"
PORT = 8080
NEEDED = ("systemd-nspawn", "mmdebstrap", "unshare", "nsenter", "setpriv", "ip", "ssh", "gpg")
NETWORK = f"""
ip link set lo up
ip link add {BRIDGE} type bridge forward_delay 0
ip address add {HERE}/24 dev {BRIDGE}
ip link set {BRIDGE} up
echo ready
exec sleep infinity
"""
OTHERS = "others"  # folder of the repositories of other systems by apt
OF_ALL = ("linux-headers-", "dkms", "nvidia-container-toolkit", "libnvidia-container")
DIRECTORIES = {"x86_64": ("amd64", "x86_64"), "aarch64": ("arm64", "sbsa")}


class Room:
    """Network, repository and nodes; close() ends them all."""

    def __init__(self, folder: Path) -> None:
        """Open the room. folder: empty, for keys, packages and logs."""
        cgroups.sweep()
        self.folder = folder
        self._bases = {machine.DEBIAN: base.tree()}
        self._nodes: dict[str, Node] = {}
        self._count = 10
        command = ["unshare", "--net", "--", "/bin/sh", "-euc", NETWORK]
        self._network = Program("network", command, folder)
        self.switch = Switch(self._network.pid, BRIDGE)
        self._network.wait_for("network", lambda: "ready" in self._network.output)
        self.key = deb.Key(folder / "gpg")
        self._ssh_keys()
        self._packages = self._repository("debian12", standins.packages())
        server = [sys.executable, "-m", "http.server", "--bind", HERE, "--directory"]
        self._server = Program(
            "repository", self.switch.inside([*server, folder / "www", str(PORT)]), folder
        )

    @property
    def address(self) -> str:
        """Address of the repositories, as a spec names it."""
        return f"http://{HERE}:{PORT}"

    @property
    def others(self) -> str:
        """Address of the repositories of Ubuntu and Debian 13, there once a node of Ubuntu is."""
        return f"{self.address}/{OTHERS}"

    @property
    def ssh_key(self) -> Path:
        """Private key that every node's user accepts."""
        return self.folder / "ssh" / "user"

    @property
    def known_hosts(self) -> Path:
        """The nodes' key, which is the same for all."""
        return self.folder / "ssh" / "known_hosts"

    def boot(self, machines: Mapping[str, machine.Machine]) -> dict[str, Node]:
        """Boot nodes at once and wait until all are up."""
        for each in machines.values():
            self._provide(each.system)
        with room_for(len(machines)):
            nodes = {name: self._start(name, each) for name, each in machines.items()}
            self._nodes.update(nodes)
            for node in nodes.values():
                node.wait()
        return nodes

    def stop(self, nodes: Iterable[Node]) -> None:
        """End nodes."""
        for node in nodes:
            node.stop()
            del self._nodes[node.name]

    def close(self) -> None:
        """End everything."""
        self.stop(list(self._nodes.values()))
        self._server.stop()
        self._network.stop()
        self.key.close()

    def sign(self, key: deb.Key) -> None:
        """Sign the repository anew, by another key."""
        deb.sign(self._packages, key)

    def _start(self, name: str, own: machine.Machine) -> Node:
        folder = self.folder / "nodes" / f"{self._count}-{name}"  # stories use names anew
        address = f"{NET}.{self._count}"
        self._count += 1
        tree = self._bases[own.system]
        more = el.files(own.system, self.address) if own.system in el.RELEASES else {}
        dress(folder, name, address, {**self._access(name), **more, **machine.files(own, tree)})
        layers = [tree] if own.layer is None else [own.layer, tree]
        return Node(name, address, self.switch, layers, folder)

    def _provide(self, system: str) -> None:
        """See that there are a base tree and repositories for a system."""
        if system in self._bases:
            return
        if system in el.RELEASES:
            if not self._bases.keys() & el.RELEASES:
                el.write_repositories(self.folder / "www", self.key)
            self._bases[system] = el.tree()
        elif system == machine.DEBIAN_13:
            self._bases[system] = base.tree(base.DEBIAN_13)
        else:
            self._bases[system] = self._bases[machine.DEBIAN]
            own = (each for each in standins.packages() if each.name.startswith(OF_ALL))
            self._repository(f"{OTHERS}/ubuntu2404", (*own, *ubuntu_standins.packages()))
            (self.folder / "www" / OTHERS / "debian13").symlink_to("../debian12")

    def _access(self, name: str) -> dict[str, str]:
        ssh = self.folder / "ssh"
        return {
            "etc/ssh/lab_authorized_keys": (ssh / "user.pub").read_text(),
            "etc/ssh/ssh_host_ed25519_key": (ssh / "host").read_text(),
            "etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {name}\n",
        }

    def _ssh_keys(self) -> None:
        folder = self.folder / "ssh"
        folder.mkdir(mode=0o700)
        for name in ("user", "host"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name]
            subprocess.run([*command, "-f", folder / name], check=True, timeout=60)
        kind, key, _ = (folder / "host.pub").read_text().split()
        self.known_hosts.write_text(f"{NET}.* {kind} {key}\n")

    def _repository(self, system: str, packages: Iterable[deb.Package]) -> Path:
        architecture, directory = DIRECTORIES[platform.machine()]
        folder = self.folder / "www" / system / directory
        folder.parent.mkdir(parents=True)
        deb.write_repository(folder, packages, architecture)
        deb.sign(folder, self.key)
        return folder
