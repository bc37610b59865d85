"""Every way in which a driver comes to a host, from its installation to its removal.

One node per method; they take each step of the story together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from support.lab.nodes import deb, standins_methods
from support.lab.nodes.machine import Machine
from support.lab.nodes.plays import ALL_AT_ONCE, Checkout, Run, spec
from support.lab.nodes.room import HERE, PORT, Room
from support.lab.nodes.standins import text

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

DISTRO, BUILT, DEBIAN, INSTALLER = "distro", "built", "debian", "installer"
MAY = {**ALL_AT_ONCE, "gpugen_allow_disruption": True}
ROLES = ("--tags", "gpu_prerequisites,nvidia_driver,preflight")
PCIE = "20F1"
ARCHIVE = f"Types: deb\nURIs: http://{HERE}:{PORT}/archive/\nSuites: /\nTrusted: yes\n"
UBUNTU = 'ID=ubuntu\nNAME="Ubuntu"\nVERSION_ID="24.04"\nVERSION="24.04 LTS (Noble Numbat)"\n'
FIRST, SECOND = "580.105.08", "580.142"  # of the installer
SOURCES = {"etc/apt/sources.list.d/archive.sources": ARCHIVE}
KEY = "var/lib/dkms/mok.pub"
# Nouveau comes with the initramfs, until that says otherwise.
NOUVEAU = """\
[Unit]
Before=fake-nvidia-load.service
[Service]
Type=oneshot
ExecStart=-/bin/sh -c 'grep -q "blacklist nouveau" /boot/init* && rm -r /srv/lab/sys/module/nouveau'
"""
# What user nobody does where he may write: files, links and open handles under every likely name.
PLANTED = "/srv/nobody-became-root"
NOBODY = f"""
import os, sys
os.setgid(65534), os.setuid(65534)
for folder in ("/var/tmp", "/tmp", "/dev/shm"):
    for version in sys.argv[1:]:
        for name in (f"gpugen-nvidia-{{version}}.run", f"nvidia-{{version}}.run", "gpugen"):
            path = f"{{folder}}/{{name}}"
            with open(path, "w") as file:
                file.write("#!/bin/sh\\ntouch {PLANTED}\\n")
            os.chmod(path, 0o755)
try:
    os.symlink("/tmp/gpugen", "/var/lib/gpugen")
except OSError as refused:
    print(refused.strerror)
"""
AT_BOOT = "etc/systemd/system/multi-user.target.d/nouveau.conf"
MACHINES: Mapping[str, Machine] = {
    DISTRO: Machine(device=PCIE, files={**SOURCES, "etc/os-release": UBUNTU}),
    BUILT: Machine(device=PCIE, has_secure_boot=True, files={**SOURCES, "etc/os-release": UBUNTU}),
    DEBIAN: Machine(
        device=PCIE,
        has_secure_boot=True,
        installed={"mokutil": "0.6.0-2"},
        files={**SOURCES, KEY: "key\n", "usr/bin/mokutil": text("mokutil")},
    ),
    INSTALLER: Machine(
        device=PCIE,
        has_nouveau=True,
        files={
            "etc/systemd/system/nouveau.service": NOUVEAU,
            AT_BOOT: "[Unit]\nWants=nouveau.service\n",
        },
    ),
}


def drivers(step: int) -> dict[str, dict[str, Any]]:
    """Return the driver of each node's pool. step: 0 the first, 1 what follows it."""
    version = (FIRST, SECOND)[step]
    content = standins_methods.installer(version).encode()
    runfile = {
        "url": f"http://{HERE}:{PORT}/NVIDIA-Linux-x86_64-{version}.run",
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    return {
        DISTRO: {"method": "distro", "version": ("570.195.03", "580.95.05")[step]},
        BUILT: {"method": "precompiled", "version": "580.126.09", "secureBoot": "signed"},
        DEBIAN: {"method": "distro", "version": "535.261.03", "secureBoot": "mok"},
        INSTALLER: {"method": "runfile", "version": version, "runfile": runfile},
    }


@dataclass(frozen=True)
class Step:
    """A play, and the driver's packages after it."""

    run: Run
    versions: Mapping[str, Mapping[str, str]]


class Story:
    """The nodes and the steps that they take."""

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.room, self.checkout = room, checkout
        offer(room)
        self.nodes = room.boot(MACHINES)

    def render(self, step: int, **changes: Mapping[str, Any]) -> None:
        """Render a pool per node. changes: node -> keys of its driver."""
        own = spec(self.room, self.nodes.values())
        hosts = own["pools"][0]["hosts"]
        own["pools"] = [
            {
                "name": name,
                "gpu": {"model": "a100-pcie-40gb", "count": 4},
                "hosts": [host],
                "host": {
                    "os": "ubuntu-24.04" if name in {DISTRO, BUILT} else "debian-12",
                    "driver": {
                        **drivers(step)[name],
                        "kernelModules": "open",
                        **changes.get(name, {}),
                    },
                },
            }
            for name, host in zip(self.nodes, hosts, strict=True)
        ]
        self.checkout.render(own)

    def step(self, *arguments: str, **options: Any) -> Step:
        """Play and look."""
        run = self.checkout.play(*(arguments or ROLES), **{"extra": MAY, **options})
        return Step(run, {name: node.versions() for name, node in self.nodes.items()})

    @cached_property
    def planted(self) -> str:
        """What user nobody was told when he reached for our folder, before anything came."""
        return self.nodes[INSTALLER].run("python3", "-c", NOBODY, FIRST, SECOND).strip()

    @cached_property
    def checked(self) -> Step:
        """Check mode on fresh hosts."""
        assert self.planted
        self.render(0)
        return self.step("--check", *ROLES)

    @cached_property
    def unconfirmed(self) -> Step:
        """The first run, before anybody has confirmed the key at the console."""
        assert self.checked
        return self.step()

    @cached_property
    def converged(self) -> Step:
        """The next run, with the key confirmed."""
        assert self.unconfirmed
        self.nodes[DEBIAN].sh("touch /var/lib/lab/enrolled")
        return self.step()

    @cached_property
    def rerun(self) -> Step:
        """The same again."""
        assert self.converged
        return self.step()

    @cached_property
    def busy(self) -> Step:
        """Other versions, while somebody has a device open."""
        assert self.rerun
        self.render(1)
        self.nodes[DISTRO].sh("touch /dev/nvidia0; sleep 1000 </dev/nvidia0 >/dev/null 2>&1 &")
        return self.step("--limit", f"{DISTRO}.lab.example", *ROLES)

    @cached_property
    def forced(self) -> Step:
        """Other versions of what has some, where the spec says force, or to wait."""
        assert self.busy
        self.render(1, distro={"inUse": "force"}, installer={"inUse": "wait"})
        self.nodes[INSTALLER].sh("touch /dev/nvidia0; sleep 100 </dev/nvidia0 >/dev/null 2>&1 &")
        return self.step()

    @cached_property
    def other_method(self) -> Step:
        """Another method than the one by which the driver came."""
        assert self.forced
        self.render(1, distro={"method": "vendor", "version": SECOND})
        return self.step("--limit", f"{DISTRO}.lab.example", *ROLES)

    @cached_property
    def removed(self) -> Step:
        """Everything taken away."""
        assert self.other_method
        self.render(1)
        return self.step(
            *ROLES[:1], "nvidia_driver", playbook="remove.yml", extra={**MAY, "gpugen_remove": True}
        )


def offer(room: Room) -> None:
    """Put the archive and the installers beside the vendor's repository."""
    www = room.folder / "www"
    (www / "ubuntu2404").symlink_to("debian12")
    deb.write_repository(www / "archive", standins_methods.archive(), "amd64")
    deb.sign(www / "archive", room.key)
    for version in (FIRST, SECOND):
        path = www / f"NVIDIA-Linux-x86_64-{version}.run"
        path.write_text(standins_methods.installer(version), encoding="utf-8")


@pytest.fixture(scope="module")
def story(room: Room, checkout: Checkout) -> Iterator[Story]:
    own = Story(room, checkout)
    yield own
    room.stop(own.nodes.values())


def smi(story: Story, node: str) -> list[str]:
    query = "nvidia-smi --query-gpu=driver_version,persistence_mode --format=csv,noheader"
    return sorted(set(story.nodes[node].sh(query).splitlines()))


def test_check_mode_shows_every_method(story: Story) -> None:
    """GEN-05, DRV-26: what cannot be checked yet is said."""
    assert story.checked.run.code == 0, story.checked.run.output
    for node in MACHINES:
        assert story.checked.run[node].changed
        assert story.checked.versions[node] == {}


def test_a_key_waits_for_somebody_at_the_console(story: Story) -> None:
    """DRV-11."""
    (message,) = story.unconfirmed.run[DEBIAN].messages
    word = story.nodes[DEBIAN].read("/var/lib/lab/word").strip()
    assert message.startswith("debian.lab.example: DRV-11: the key /var/lib/dkms/mok.pub waits")
    assert len(word) == 8
    assert f"type {word}, run again" in message


def test_each_method_brings_its_driver(story: Story) -> None:
    """DRV-02, DRV-19, DRV-21."""
    assert story.converged.run.code == 0, story.converged.run.output
    versions = {node: own["version"] for node, own in drivers(0).items()}
    assert {node: smi(story, node) for node in MACHINES} == {
        node: [f"{version}, Enabled"] for node, version in versions.items()
    }
    record = "/var/lib/misc/gpugen-nvidia-driver.json"
    for node, own in drivers(0).items():
        found = json.loads(story.nodes[node].read(record))
        assert (found["method"], found["version"]) == (own["method"], own["version"])


def test_the_installer_runs_once_nouveau_is_away(story: Story) -> None:
    """DRV-09, DRV-16: the reboot comes first, and the play goes on behind it."""
    assert "nouveau makes way for driver" in story.unconfirmed.run.output
    folder = "/srv/lab/sys/module"
    assert story.nodes[INSTALLER].sh(f"ls {folder} 2>/dev/null || true") == ""
    assert smi(story, INSTALLER) == [f"{FIRST}, Enabled"]


def test_nothing_that_nobody_planted_runs(story: Story) -> None:
    """DRV-22: the installer lies and runs where root alone reaches in."""
    assert story.planted == "Permission denied"
    assert story.converged.run.code == 0
    node = story.nodes[INSTALLER]
    look = "stat -c '%a %U' /var/lib/gpugen; ls -A /var/lib/gpugen"
    own = node.sh(f"test ! -e /var/lib/gpugen || {{ {look}; }}")
    assert own in {"", "700 root\n"}  # who leaves it empty takes it away
    assert node.sh(f"ls {PLANTED} 2>/dev/null || true") == ""
    left = node.sh("stat -c %U /var/tmp/gpugen-nvidia-*.run")
    assert set(left.split()) == {"nobody"}  # neither taken over nor removed


def test_archives_are_pinned_like_the_vendors_packages(story: Story) -> None:
    """DRV-02, DRV-03: a newer version of the branch lies in the archive, and stays there."""
    versions = story.converged.versions[DISTRO]
    assert versions["nvidia-utils-570-server"] == "=570.195.03-0ubuntu0.24.04.1"
    assert versions["nvidia-dkms-570-server-open"] == "=570.195.03-0ubuntu0.24.04.1"
    tools = story.converged.versions[DEBIAN]["nvidia-persistenced"]
    assert tools == standins_methods.DEBIAN_TOOLS  # a version of its own, neither pinned nor gone


def test_modules_of_the_system_serve_a_host_with_secure_boot(story: Story) -> None:
    """DRV-11: signed by the distribution, so nothing is built on the host."""
    versions = story.converged.versions[BUILT]
    assert f"linux-modules-nvidia-580-server-open-{standins_methods.KERNEL}" in versions
    assert not any("dkms" in name and "no-dkms" not in name for name in versions)
    updates = "/etc/apt/apt.conf.d/52gpugen-unattended-upgrades"
    assert '"linux-image-";' in story.nodes[BUILT].read(updates)  # a new kernel has no modules yet


def test_a_second_run_changes_nothing(story: Story) -> None:
    """GEN-04, and within the budget of module runs."""
    assert story.rerun.run.code == 0, story.rerun.run.output
    for node in MACHINES:
        run = story.rerun.run[node]
        assert run.changed == ()
        own = {task: n for task, n in run.modules.items() if task.startswith("nvidia_driver")}
        assert sum(own.values()) <= 9, own


def test_an_open_device_is_refused(story: Story) -> None:
    """DRV-13, DRV-14."""
    run = story.busy.run[DISTRO]
    assert run.changed == ()
    (message,) = run.messages
    assert message.startswith("distro.lab.example: DRV-13: processes "), message
    assert "have /dev/nvidia* open" in message


def test_a_branch_changes_in_one_transaction(story: Story) -> None:
    """DRV-22: nothing of the former branch is left, and a forced change says whom it met."""
    step = story.forced
    assert step.run.code == 0, step.run.output
    assert "forced: processes " in step.run.output
    names = step.versions[DISTRO]
    assert not any("-570-" in name for name in names), names
    assert names["nvidia-utils-580-server"] == "=580.95.05-0ubuntu0.24.04.1"
    assert smi(story, DISTRO) == ["580.95.05, Enabled"]


def test_the_installer_replaces_its_own_driver(story: Story) -> None:
    """DRV-17: unloaded first, because the installer refuses otherwise; DRV-13: waited for."""
    waited = "RETRYING: [installer.lab.example]: Find out who uses the GPUs"
    assert waited in story.forced.run.output
    assert smi(story, INSTALLER) == [f"{SECOND}, Enabled"]


def test_another_method_is_refused(story: Story) -> None:
    """DRV-24."""
    run = story.other_method.run[DISTRO]
    assert run.changed == ()
    (message,) = run.messages
    assert "DRV-24: this driver was installed by method distro" in message


def test_each_method_is_taken_away_by_its_record(story: Story) -> None:
    """DRV-23."""
    assert story.removed.run.code == 0, story.removed.run.output
    for node in MACHINES:
        left = {name for name in story.removed.versions[node] if "container" not in name}
        assert left == set(), node
        assert story.nodes[node].sh("ls /usr/bin/nvidia-* 2>/dev/null || true") == ""
        files = "/etc/modprobe.d/gpugen* /etc/apt/preferences.d/gpugen* /var/lib/misc/gpugen-n*"
        left = story.nodes[node].sh(f"ls -d /var/lib/gpugen {files} 2>/dev/null || true")
        assert left == ""
