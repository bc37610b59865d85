"""A host dressed as Enterprise Linux: its boot loader's tool, and toolkits by dnf."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest

from support.lab.nodes import base, el
from support.lab.nodes.fixtures import missing
from support.lab.nodes.plays import ALL_AT_ONCE, Checkout, Run, spec
from support.lab.nodes.room import Room
from support.lab.nodes.tuning import PRIVATE, machine

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

NODE = "nine"
ROLES = "gpu_prerequisites,gpu_tuning,cuda_toolkit"
EXTRA = {**ALL_AT_ONCE, **PRIVATE, "gpugen_allow_disruption": True}
TUNING = {"iommu": "pt", "hugepages": {"2Mi": 4, "1Gi": 2}}
TOOLKIT = {"versions": ["13.0"], "default": "13.0", "cudnn": "9.13.0"}


class Story:
    """One host and what happens to it; each chapter is played once, when it is first asked for."""

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.room, self.checkout = room, checkout
        kernels = {"boot/loader-arguments": "ro quiet\nro crashkernel=1G\n"}
        self.node = room.boot({NODE: machine(el.EL9, kernels)})[NODE]

    def play(self, tuning: dict[str, Any], toolkit: dict[str, Any], *arguments: str) -> Run:
        """Bring the host to some settings and toolkits."""
        content = spec(self.room, [self.node])
        content["hostDefaults"] |= {
            "os": el.EL9,
            "driver": {"method": "none", "version": "580.105.08"},
            "tuning": tuning,
            "cudaToolkit": toolkit,
        }
        self.checkout.render(content)
        return self.checkout.play("--tags", ROLES, *arguments, extra=EXTRA)

    def installed(self) -> dict[str, str]:
        """Return what is installed of CUDA."""
        rows = self.node.run("rpm", "-qa", "--queryformat=%{NAME}|%{VERSION}\n").splitlines()
        found = dict(row.split("|") for row in rows)
        return {name: version for name, version in found.items() if "cud" in name}

    @cached_property
    def converged(self) -> Run:
        """Everything set, with a reboot."""
        return self.play(TUNING, TOOLKIT)

    @cached_property
    def again(self) -> Run:
        """Once more."""
        assert self.converged
        return self.play(TUNING, TOOLKIT)

    @cached_property
    def upgraded(self) -> Run:
        """A newer cuDNN, which locks must let through."""
        assert self.again
        return self.play(TUNING, {**TOOLKIT, "cudnn": "9.14.0"})

    @cached_property
    def removed(self) -> Run:
        """Everything taken back."""
        assert self.upgraded
        extra = {**EXTRA, "gpugen_remove": True}
        roles = "gpu_tuning,cuda_toolkit"
        return self.checkout.play("--tags", roles, playbook="remove.yml", extra=extra)


@pytest.fixture(scope="module")
def story(room: Room, checkout: Checkout) -> Iterator[Story]:
    try:
        own = Story(room, checkout)
    except base.UnavailableError as problem:
        missing(str(problem))
    yield own
    room.stop([own.node])


def test_words_stand_in_the_entries_of_every_kernel(story: Story) -> None:
    """TUN-04, TUN-06: by grubby, verified on the running command line."""
    assert story.converged.code == 0, story.converged.output
    words = "intel_iommu=on iommu=pt hugepagesz=1G hugepages=2"
    lines = story.node.read("/boot/loader-arguments").splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        f"ro quiet {words}",
        f"ro crashkernel=1G {words}",
    ]
    assert words in " ".join(story.node.run("cat", "/run/fake-nvidia/proc/cmdline").split())


def test_toolkits_and_cudnn_come_by_dnf(story: Story) -> None:
    """CUD-01, CUD-03, CUD-04: exact names, the exact cuDNN, the link by alternatives."""
    assert story.converged.code == 0, story.converged.output
    assert story.installed() == {
        "cuda-toolkit-13-0": "13.0.1",
        "cuda-nvcc-13-0": "13.0.48",
        "cudnn9-cuda-13": "9.13.0.50",
        "libcudnn9-cuda-13": "9.13.0.50",
    }
    locks = story.node.read("/etc/dnf/plugins/versionlock.list").splitlines()
    assert "cuda-nvcc-13-0-0:13.0.48-1.el9.x86_64" in locks
    assert "libcudnn9-cuda-13-0:9.13.0.50-1.el9.x86_64" in locks
    found = story.node.run("readlink", "--canonicalize", "/usr/local/cuda").strip()
    assert found == "/usr/local/cuda-13.0"


def test_a_second_run_changes_nothing(story: Story) -> None:
    assert (story.again.code, story.again[NODE].changed) == (0, ()), story.again.output


def test_a_transaction_that_brings_a_driver_is_refused(story: Story) -> None:
    """CUD-01: dnf is asked what it would do before it does anything."""
    assert story.again
    before = story.installed()
    run = story.play(TUNING, {"versions": ["12.8", "13.0"], "default": "13.0", "cudnn": "9.13.0"})
    assert run.code == 2
    assert "would install cuda-drivers-580" in run[NODE].messages[-1], run.output
    assert story.installed() == before


def test_an_upgrade_by_hand_moves_nothing_and_one_by_the_spec_does(story: Story) -> None:
    """CUD-04: locked to what came, until the spec says otherwise."""
    assert story.again
    before = story.installed()
    story.node.run("dnf", "-q", "-y", "upgrade", "cuda*", "*cudnn*")
    assert story.installed() == before
    assert story.upgraded.code == 0, story.upgraded.output
    assert story.installed() == {
        **before,
        "cudnn9-cuda-13": "9.14.0.64",
        "libcudnn9-cuda-13": "9.14.0.64",
    }


def test_removal_takes_everything_back(story: Story) -> None:
    """CUD-05, TUN-10."""
    assert story.removed.code == 0, story.removed.output
    assert story.installed() == {}
    lines = story.node.read("/boot/loader-arguments").splitlines()
    assert [" ".join(line.split()) for line in lines] == ["ro quiet", "ro crashkernel=1G"]
    assert story.node.read("/var/lib/misc/gpugen-kernel-arguments") == ""
    assert story.node.read("/var/lib/misc/gpugen-cuda-toolkit.json") == ""
    assert "cuda" not in story.node.read("/etc/dnf/plugins/versionlock.list")


def test_a_version_of_dcgm_that_nobody_offers_takes_nothing_away(story: Story) -> None:
    """DCG-01: dnf is asked before DCGM 3 goes, and not only apt."""
    assert story.removed
    story.node.run("dnf", "-q", "-y", "install", "datacenter-gpu-manager")
    content = spec(story.room, [story.node])
    driver = {"method": "none", "version": "580.105.08"}
    content["hostDefaults"] |= {"os": el.EL9, "driver": driver, "dcgm": {"version": "4.9.9"}}
    story.checkout.render(content)
    run = story.checkout.play("--tags", "nvidia_dcgm", extra=EXTRA)
    (message,) = run[NODE].messages
    assert "DCG-01: the configured repositories do not offer 1:4.9.9" in message
    assert "datacenter-gpu-manager-4-core 1:4.5.3-1" in message
    assert "3.3.9" in story.node.run("rpm", "-q", "datacenter-gpu-manager")
