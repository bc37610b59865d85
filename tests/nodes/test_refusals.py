"""Hosts that do not fit are refused for the right reason, and before anything on them changes.

GEN-09: all faults of a host at once, each with what was found, what is wanted, and the variable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.lab.nodes import deb
from support.lab.nodes.machine import Machine
from support.lab.nodes.node import Node
from support.lab.nodes.plays import Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

PREREQUISITES = "gpu_prerequisites"
OTHER_SYSTEM = (
    'ID=debian\nNAME="Debian GNU/Linux"\nPRETTY_NAME="Debian GNU/Linux 13"\nVERSION_ID="13"\n'
)
SOURCE = "Types: deb\nURIs: {uri}\nSuites: /\nTrusted: yes\n"
LOADED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Release"
MACHINES: Mapping[str, Machine] = {
    "pci": Machine(gpus=3, device="2330"),
    "empty": Machine(gpus=0),
    "system": Machine(
        files={
            "etc/os-release": OTHER_SYSTEM,
            "etc/debian_version": "13.1\n",
            "etc/apt/sources.list.d/own.sources": SOURCE.format(
                uri="http://10.77.0.1:8080/debian12/x86_64/"
            ),
        }
    ),
    "others": Machine(
        has_secure_boot=True,
        files={
            "usr/bin/nvidia-uninstall": "",
            "etc/dgx-release": "DGX_NAME=DGX\n",
            "etc/tmpfiles.d/others.conf": (
                "d /run/nvidia/driver/usr 0755 root root\n"
                "d /run/fake-nvidia/proc/driver/nvidia 0755 root root\n"
                f"f /run/fake-nvidia/proc/driver/nvidia/version 0644 root root - {LOADED}\n"
            ),
        },
    ),
    "archive": Machine(
        installed={
            "nvidia-driver-535-server": "535.161.08-0ubuntu2",
            "nvidia-driver-pinning-580": "580.105.08-1",
        }
    ),
    "root1": Machine(
        has_kubelet=True,
        installed={"nvidia-docker2": "2.13.0-1"},
        files={
            "etc/containerd/config.toml": 'disabled_plugins = ["cri"]\n',  # as docker leaves it
            "etc/cdi/nvidia.yaml": "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n",
        },
    ),
    "root3": Machine(files={"etc/containerd/config.toml": "version = 3\n"}),
    "root9": Machine(files={"etc/containerd/config.toml": "version = 9\n"}),
    "relative": Machine(
        files={"etc/containerd/config.toml": 'version = 2\nimports = ["more/*.toml"]\n'}
    ),
    "bare": Machine(files={"etc/containerd/config.toml": "version = 2\n"}),
    "guests": Machine(bound_to="vfio-pci"),
    "list": Machine(files={"etc/containerd/config.toml": 'imports = "/etc/x"\nversion = 2\n'}),
}
HOST_VARIABLES: Mapping[str, Mapping[str, Any]] = {
    "pci": {"__gpu_prerequisites_container_marker": "/run/systemd/container"},  # nodes are some
    "others": {"nvidia_driver_min_free_root_mib": 10**9},
}
FAULTS = {  # node -> beginnings of what it is told, all at once
    "pci": (
        "PRE-02: 3 GPUs in PCI, expected 4 (gpu_prerequisites_gpu_count)",
        "PRE-02: GPUs with device id 2330, expected 20B0",
        "PRE-03: the host is a container",
    ),
    "empty": ("PRE-01: no NVIDIA GPU below /srv/lab/sys", "PRE-02: 0 GPUs in PCI, expected 4"),
    "system": (
        "PRE-03: the system is debian-13",
        "PRE-07: /etc/apt/sources.list.d/own.sources configures the same repository",
    ),
    "others": (
        "PRE-03: the host runs DGX OS",
        "DRV-11: Secure Boot is on",
        "DRV-24: a driver of the .run installer is present",
        "DRV-24: driver 535.161.08 is loaded, but no package owns it",
        "DRV-25: a driver container owns this node",
        "PRE-03: 3276",
    ),
    "archive": (
        "DRV-24: driver packages of the distribution's archive are installed "
        "(nvidia-driver-535-server)",
        "DRV-03: nvidia-driver-pinning-580 pins the driver too",
    ),
    "root1": (
        "CTK-04: nvidia-docker2 of a former toolkit must leave, the kubelet runs, "
        "and nothing drains",
        "CTK-18: /etc/cdi/nvidia.yaml describes nvidia.com/gpu a second time",
        "CTK-08: /etc/containerd/config.toml has version 1",
    ),
    "root3": ("CTK-07: /etc/containerd/config.toml has version 3",),
    "root9": ("CTK-07: /etc/containerd/config.toml has version 9",),
    "relative": ("CTK-10: /etc/containerd/config.toml imports more/*.toml by a relative path",),
    "bare": ("CTK-06: containerd does not run here",),
    "guests": ("DRV-09: GPUs are bound to another driver (vfio-pci 0000:01:00.0, vfio-pci",),
    "list": ("CTK-10: /etc/containerd/config.toml has imports that are no list of paths",),
}


@pytest.fixture(scope="module")
def refused(
    room: Room, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Run, dict[str, set[str]]]:
    """Return one play over hosts of which none fits, and what it changed on them."""
    nodes = room.boot(MACHINES)
    nodes["bare"].sh("rm /usr/bin/containerd")
    checkout = Checkout(room, tmp_path_factory.mktemp("refused"))
    checkout.render(spec(room, nodes.values()))
    before = {name: node.changes() for name, node in nodes.items()}
    run = checkout.play(host_variables=HOST_VARIABLES)
    after = {name: node.changes() for name, node in nodes.items()}
    room.stop(nodes.values())
    return run, {name: _difference(before[name], after[name]) for name in nodes}


@pytest.mark.parametrize("node", MACHINES)
def test_a_host_that_does_not_fit_is_told_why_and_left_alone(
    refused: tuple[Run, dict[str, set[str]]], node: str
) -> None:
    run, differences = refused
    assert run.code == 2
    assert run[node].changed == ()
    assert differences[node] == set()
    (message,) = run[node].messages
    told = message.removeprefix(f"{node}.lab.example: ").split("; ")
    starts = [part for part in told if part[:5] in RULES]
    assert len(starts) == len(FAULTS[node]), message
    for start, wanted in zip(starts, FAULTS[node], strict=True):
        assert start.startswith(wanted), message


RULES = {
    f"{fault.split('-')[0]}-{number}" for fault in ("PRE", "DRV", "CTK") for number in range(10)
}


def _difference(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    return {path for path in before | after if before.get(path) != after.get(path)}


class Fresh:
    """A fresh host whose repository is at fault, in several ways one after the other."""

    def __init__(self, room: Room, folder: Path) -> None:
        self.room = room
        self.nodes = room.boot({"fresh": Machine()})
        self.node: Node = self.nodes["fresh"]
        self.checkout = Checkout(room, folder)

    def refused(
        self, *roles: str, key: bytes = b"", **changes: Any
    ) -> tuple[str, set[str], tuple[str, ...]]:
        """Play roles of a changed spec: the message, the paths that changed, the changed tasks.

        key: stands in the output during the play, in place of the repository's.
        """
        self.checkout.render(spec(self.room, self.nodes.values(), **changes))
        file = self.checkout.plays / "files/keys/lab.asc"
        before = self.node.changes()
        if key:
            own = file.read_bytes()
            file.write_bytes(key)
        run = self.checkout.play()
        if key:
            file.write_bytes(own)
        print(run.output)
        assert run.code == 2, run.output
        (*_, message) = run["fresh"].messages
        return message, _difference(before, self.node.changes()), run["fresh"].changed


@pytest.fixture(scope="module")
def fresh(room: Room, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fresh]:
    own = Fresh(room, tmp_path_factory.mktemp("fresh"))
    yield own
    room.stop(own.nodes.values())


def test_a_key_with_another_fingerprint_is_refused(fresh: Fresh, tmp_path: Path) -> None:
    """Rendering compares too, so the key is exchanged in the output."""
    stranger = deb.Key(tmp_path / "gpg")
    try:
        message, difference, changed = fresh.refused(key=stranger.public)
    finally:
        stranger.close()
    assert "PRE-07" in message
    assert f"holds key {stranger.fingerprint}, expected {fresh.room.key.fingerprint}" in message
    assert (difference, changed) == (set(), ())


def test_a_repository_signed_by_another_key_is_refused(fresh: Fresh, tmp_path: Path) -> None:
    stranger = deb.Key(tmp_path / "gpg")
    fresh.room.sign(stranger)
    try:
        message, difference, _ = fresh.refused()
    finally:
        fresh.room.sign(fresh.room.key)
        stranger.close()
    assert "non-zero return code" in message or "NO_PUBKEY" in message, message
    assert not any("lib/dpkg" in path for path in difference)


def test_a_kernel_without_headers_is_refused(fresh: Fresh) -> None:
    fresh.node.sh(
        "printf 'Package: linux-headers-*\\nPin: release *\\nPin-Priority: -1\\n' "
        ">/etc/apt/preferences.d/no-headers"
    )
    message, difference, _ = fresh.refused()
    fresh.node.sh("rm /etc/apt/preferences.d/no-headers")
    assert "PRE-05: kernel " in message
    assert "has no headers in the configured repositories" in message
    assert not any("lib/dpkg" in path for path in difference)


def test_a_driver_that_nobody_offers_is_refused(fresh: Fresh) -> None:
    message, difference, _ = fresh.refused("nvidia_driver", driver="580.126.09")
    assert "DRV-26: the configured repositories do not offer 580.126.09 of nvidia-open" in message
    for version in ("580.105.08", "580.142", "580.178.04"):
        assert f"nvidia-open {version}-1" in message
    assert not any("nvidia" in path for path in difference - KEYS), difference


KEYS = {
    "etc/apt/keyrings/gpugen-nvidia.asc",
    "etc/apt/sources.list.d/gpugen-nvidia.sources",
}


def test_a_toolkit_that_nobody_offers_is_refused(fresh: Fresh) -> None:
    message, difference, _ = fresh.refused("nvidia_container_toolkit", toolkit="1.19.0")
    assert "CTK-02: the configured repositories do not offer 1.19.0 of" in message
    assert "nvidia-container-toolkit 1.20.1-1" in message
    others = difference - {"var/lib/misc/gpugen-nvidia-container-toolkit.json"}  # what was there
    assert not any("containerd" in path or "container-toolkit" in path for path in others)
