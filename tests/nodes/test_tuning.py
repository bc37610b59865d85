"""The tuning of a booted host: set, kept over a reboot, drifted and healed, taken back, removed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, TypeAlias

import pytest

from support.lab.nodes.plays import ALL_AT_ONCE, Checkout, Run, spec
from support.lab.nodes.room import Room
from support.lab.nodes.tuning import BRIDGE, PRIVATE, machine

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

ROLE = "gpu_tuning"
NODE = "tuned"
ALLOWED = {"gpugen_allow_disruption": True}
EVERYTHING: dict[str, Any] = {
    "powerLimitWatts": 300,
    "lockedClocksMHz": {"min": 210, "max": 1200},
    "ecc": False,
    "computeMode": "exclusive-process",
    "iommu": "pt",
    "acs": "disabled",
    "hugepages": {"2Mi": 8, "1Gi": 2},
    "numaBalancing": False,
    "limits": {"memlock": "infinity", "nofile": 524288},
    "gpuDirectRdma": "peermem",
}
LATER = {"lockedClocksMHz": {"min": 210, "max": 1000}, "hugepages": {"1Gi": 4}}
Refused: TypeAlias = tuple[dict[str, Any], str, list[str]]  # settings, what is spoilt, faults
REFUSED: list[Refused] = [
    (
        {
            **EVERYTHING,
            "powerLimitWatts": 500,
            "lockedClocksMHz": {"min": 210, "max": 1980},
        },
        "echo '[N/A]' >/srv/lab/ecc; echo Zhaoxin >/srv/lab/vendor; touch /srv/lab/vm; lab-boot;"
        "mv /srv/lab/sys/kernel/mm/hugepages/hugepages-1048576kB /srv/lab/1G;"
        "rm /run/fake-nvidia/proc/sys/kernel/numa_balancing;"
        "mv /srv/lab/sys/class/infiniband/mlx5_0 /srv/lab/card",
        [
            "TUN-01: GPUs 0, 1, 2, 3 take a power limit from 100.00 to 400.00 W, expected 500",
            "TUN-02: GPUs 0, 1, 2, 3 reach 1410 MHz, expected up to 1980",
            "TUN-03: the GPUs have no ECC to switch",
            "TUN-04: the processor's vendor is Zhaoxin",
            "TUN-05: the host is a virtual machine",
            "TUN-06: the processor has no huge pages of 1 GiB, but hugepages-2048kB",
            "TUN-07: the kernel does not balance memory between NUMA nodes",
            "TUN-09: no RDMA network card",
        ],
    ),
    (
        {"gpuDirectRdma": "peermem"},
        "echo >/run/fake-nvidia/proc/kallsyms",
        ["TUN-09: the kernel's RDMA core knows no peer memory"],
    ),
    (
        {"gpuDirectRdma": "dma-buf"},
        "echo NVRM version: NVIDIA UNIX x86_64 Kernel Module"
        " >/run/fake-nvidia/proc/driver/nvidia/version",
        ["TUN-09: the loaded driver's modules are proprietary"],
    ),
]
HEAL = """
rm -f /srv/lab/vm; echo Enabled >/srv/lab/ecc; echo GenuineIntel >/srv/lab/vendor
[ ! -e /srv/lab/1G ] || mv /srv/lab/1G /srv/lab/sys/kernel/mm/hugepages/hugepages-1048576kB
[ ! -e /srv/lab/card ] || mv /srv/lab/card /srv/lab/sys/class/infiniband/mlx5_0
rm -rf /run/lab-gpus; lab-boot
"""
OWN_FILES = (
    *("etc/systemd/system/gpugen-", "etc/default/grub.d", "etc/sysctl.d/90-gpugen"),
    *("etc/modules-load.d/gpugen", "etc/systemd/system/containerd.service.d"),
    *("usr/local/sbin/gpugen", "etc/systemd/system/nvidia-persistenced.service.wants"),
)


class Story:
    """One host and what happens to it; each chapter is played once, when it is first asked for."""

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.room, self.checkout = room, checkout
        self.node = room.boot({NODE: machine()})[NODE]

    def play(self, tuning: dict[str, Any], *arguments: str, **extra: Any) -> Run:
        """Bring the host to some settings; only this role runs."""
        content = spec(self.room, [self.node])
        content["hostDefaults"] |= {"driver": {"method": "none"}, "tuning": tuning}
        self.checkout.render(content)
        own = {**ALL_AT_ONCE, **PRIVATE, **extra}
        return self.checkout.play("--tags", ROLE, "--diff", *arguments, extra=own)

    def gpus(self) -> dict[str, str]:
        """Return what the GPUs are set to."""
        words = ("power", "clock", "mode", "ecc")
        return {word: self.node.run("cat", f"/run/lab-gpus/{word}").strip() for word in words}

    def kernel(self, name: str) -> str:
        """Return a file of the kernel."""
        return self.node.run("cat", f"/run/fake-nvidia/proc/{name}").strip()

    def acs(self) -> bytes:
        """Return the bridge's ACS control."""
        said = self.node.run("od", "-An", "-tx1", "-j326", "-N2", f"/{BRIDGE}/config")
        return bytes.fromhex(said.strip().replace(" ", ""))

    def own_files(self) -> set[str]:
        """Return what of the role's lies on the host."""
        return {path for path in self.node.changes() if path.startswith(OWN_FILES)}

    @cached_property
    def preview(self) -> Run:
        """Check mode on the fresh host."""
        return self.play(EVERYTHING, "--check")

    @cached_property
    def unasked(self) -> Run:
        """Without the word that allows an interruption."""
        assert self.preview
        return self.play(EVERYTHING)

    @cached_property
    def converged(self) -> Run:
        """Everything set, one reboot on the way."""
        assert self.unasked
        return self.play(EVERYTHING, **ALLOWED)

    @cached_property
    def again(self) -> Run:
        """Once more."""
        assert self.converged
        return self.play(EVERYTHING)

    @cached_property
    def rechecked(self) -> Run:
        """Check mode on the converged host."""
        assert self.again
        return self.play(EVERYTHING, "--check")

    @cached_property
    def drifted(self) -> Run:
        """After somebody set the power limit and NUMA balancing by hand."""
        assert self.rechecked
        self.node.run("nvidia-smi", "--power-limit=400")
        self.node.run("sysctl", "--write", "kernel.numa_balancing=1")
        return self.play(EVERYTHING)

    @cached_property
    def changed(self) -> Run:
        """With most settings gone from the spec, and others changed."""
        assert self.drifted
        return self.play(LATER, **ALLOWED)

    @cached_property
    def removed(self) -> Run:
        """Everything taken back."""
        assert self.changed
        extra = {**ALL_AT_ONCE, **PRIVATE, **ALLOWED, "gpugen_remove": True}
        return self.checkout.play("--tags", ROLE, playbook="remove.yml", extra=extra)


@pytest.fixture(scope="module")
def story(room: Room, checkout: Checkout) -> Iterator[Story]:
    own = Story(room, checkout)
    yield own
    room.stop([own.node])


@pytest.mark.parametrize("case", REFUSED, ids=["whatever-is-wrong", "no-peer-memory", "closed"])
def test_what_the_host_cannot_take_is_refused_before_a_write(story: Story, case: Refused) -> None:
    tuning, spoil, faults = case
    story.node.sh(spoil)
    run = story.play(tuning, **ALLOWED)
    story.node.sh(HEAL)
    assert (run.code, run[NODE].changed) == (2, ()), run.output
    assert [fault for fault in faults if fault not in run[NODE].messages[-1]] == []
    assert story.own_files() == set()


def test_check_mode_shows_what_would_change_and_changes_nothing(story: Story) -> None:
    assert story.preview.code == 0, story.preview.output
    assert len(story.preview[NODE].changed) >= 5
    assert story.own_files() == set()


def test_a_reboot_needs_a_word(story: Story) -> None:
    """TUN-10: what acts at boot interrupts the host, so nothing is written without leave."""
    assert story.unasked.code == 2
    message = story.unasked[NODE].messages[-1]
    assert "reboot: kernel command line without intel_iommu=on iommu=pt hugepagesz=1G" in message
    assert "reboot: ECC of the GPUs not disabled" in message
    assert story.unasked[NODE].changed == ()


def test_every_setting_holds_after_one_reboot(story: Story) -> None:
    """TUN-01 to TUN-10."""
    run = story.converged
    assert run.code == 0, run.output
    assert run[NODE].changed.count("Reboot") == 1
    assert story.gpus() == {
        "power": "300.00",
        "clock": "1200",
        "mode": "Exclusive_Process",
        "ecc": "Disabled",
    }
    words = story.kernel("cmdline").split()
    assert words[-4:] == ["intel_iommu=on", "iommu=pt", "hugepagesz=1G", "hugepages=2"]
    assert story.acs() == b"\0\0"
    assert story.kernel("sys/vm/nr_hugepages") == "8"
    assert story.kernel("sys/kernel/numa_balancing") == "0"
    # The unit's own word: this machine may have no right to lift limits of a process.
    wanted = ["LimitMEMLOCK", "LimitNOFILE"]
    shown = story.node.run("systemctl", "show", f"--property={','.join(wanted)}", "containerd")
    assert shown.split() == ["LimitNOFILE=524288", "LimitMEMLOCK=infinity"]
    story.node.run("test", "-d", "/srv/lab/sys/module/nvidia_peermem")


def test_a_second_run_changes_nothing_and_costs_little(story: Story) -> None:
    assert story.again.code == 0, story.again.output
    assert story.again[NODE].changed == ()
    assert story.again[NODE].module_runs <= 5, story.again[NODE].modules  # one reads the facts
    assert (story.rechecked.code, story.rechecked[NODE].changed) == (0, ()), story.rechecked.output


def test_what_somebody_changed_is_set_back_and_nothing_else(story: Story) -> None:
    """TUN-01, TUN-07: the live state decides, not the file."""
    run = story.drifted
    assert run.code == 0, run.output
    assert story.gpus()["power"] == "300.00"
    assert story.kernel("sys/kernel/numa_balancing") == "0"
    assert set(run[NODE].changed) == {
        f"{ROLE} : Set them at once",
        f"{ROLE} : Run the units now and at every boot",
    }


def test_what_left_the_spec_is_taken_back(story: Story) -> None:
    run = story.changed
    assert run.code == 0, run.output
    assert story.gpus() == {
        "power": "400.00",
        "clock": "1000",
        "mode": "Default",
        "ecc": "Disabled",  # of the GPU itself; left as it is
    }
    words = story.kernel("cmdline").split()
    assert "hugepages=4" in words
    assert not {"intel_iommu=on", "iommu=pt", "hugepages=2"} & set(words)
    assert story.kernel("sys/kernel/numa_balancing") == "1"
    units = {path for path in story.own_files() if path.startswith("etc/systemd/system/")}
    assert {p for p in units if "/gpugen-" in p and ".wants/" not in p} == {
        "etc/systemd/system/gpugen-gpu-locked-clocks.service"
    }


def test_removal_leaves_nothing_behind(story: Story) -> None:
    run = story.removed
    assert run.code == 0, run.output
    assert story.own_files() == set()
    assert (
        "hugepages=4 hugepagesz=1G stay on the kernel's command line until the next boot"
        in run.output
    )
    assert story.gpus()["clock"] == "1410"
    assert "hugepages" not in story.node.read("/boot/grub/grub.cfg")


def test_a_restart_that_ends_containers_needs_a_word(story: Story) -> None:
    """TUN-08, CTK-19: docker's, unless its containers outlive it."""
    assert story.removed
    unit = "[Service]\nExecStart=/bin/sleep infinity\n"
    story.node.sh("cat >/etc/systemd/system/docker.service", unit)
    story.node.sh("systemctl daemon-reload; systemctl start docker; mkdir -p /etc/docker")
    docker = {"gpu_tuning_runtime_services": ["docker.service"]}
    limits = {"limits": {"nofile": 4096}}
    run = story.play(limits, **docker)
    assert (run.code, run[NODE].changed) == (2, ()), run.output
    assert "its restart ends all containers, since live-restore is off" in run[NODE].messages[-1]
    story.node.sh("cat >/etc/docker/daemon.json", '{"live-restore": true}\n')
    run = story.play(limits, **docker)
    assert run.code == 0, run.output
    shown = story.node.run("systemctl", "show", "--property=LimitNOFILE", "docker")
    assert shown.strip() == "LimitNOFILE=4096"
    assert story.play(limits, **docker)[NODE].changed == ()
