"""CUDA toolkits and cuDNN on a booted host: side by side, pinned, chosen, removed again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest

from support.lab.nodes.machine import Machine
from support.lab.nodes.plays import ALL_AT_ONCE, Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

NODE = "builder"
TAGS = "gpu_prerequisites,cuda_toolkit"
PRIVATE = {"__cuda_toolkit_procfs": "/run/fake-nvidia/proc"}
LOADED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {}  Tue Nov 18 15:09:37 UTC 2025"
TWO = {"versions": ["12.9", "13.0"], "default": "12.9", "cudnn": "9.12.0", "profile": True}
ONE = {"versions": ["13.0"], "cudnn": "9.13.0"}
FIRST = {
    "cuda-toolkit-config-common": "13.0.48-1",
    "cuda-toolkit-12-9": "12.9.1-1",
    "cuda-nvcc-12-9": "12.9.86-1",
    "cuda-cudart-12-9": "12.9.86-1",
    "cuda-toolkit-13-0": "13.0.1-1",
    "cuda-nvcc-13-0": "13.0.48-1",
    "cuda-cudart-13-0": "13.0.48-1",
    "cudnn9-cuda-12": "9.12.0.46-1",
    "libcudnn9-cuda-12": "9.12.0.46-1",
}


class Story:
    """One host and what happens to it; each chapter is played once, when it is first asked for."""

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.room, self.checkout = room, checkout
        self.node = room.boot({NODE: Machine()})[NODE]

    def play(self, toolkit: dict[str, Any] | None, *arguments: str) -> Run:
        """Bring the host to some toolkits."""
        content = spec(self.room, [self.node])
        content["hostDefaults"] |= {"driver": {"method": "none", "version": "580.105.08"}}
        if toolkit is not None:
            content["hostDefaults"]["cudaToolkit"] = toolkit
        self.checkout.render(content)
        own = {**ALL_AT_ONCE, **PRIVATE}
        return self.checkout.play("--tags", TAGS, *arguments, extra=own)

    def versions(self) -> dict[str, str]:
        """Return what is installed of CUDA."""
        found = self.node.run(
            *("dpkg-query", "--show", "--showformat=${db:Status-Abbrev}|${Package}|${Version}\\n")
        )
        rows = [line.split("|") for line in found.splitlines()]
        return {name: version for state, name, version in rows if state[1] == "i" and "cud" in name}

    def link(self) -> str:
        """Return where /usr/local/cuda leads."""
        return self.node.run("readlink", "--canonicalize", "/usr/local/cuda").strip()

    @cached_property
    def prepared(self) -> dict[str, str]:
        """A host with repositories and nothing of this role; what differs from the base tree."""
        run = self.play(None, "--skip-tags", "cuda_toolkit")
        assert run.code == 0, run.output
        self.node.run("apt-get", "-qq", "update")
        return self.node.changes()

    @cached_property
    def preview(self) -> Run:
        """Check mode on the fresh host."""
        assert self.prepared
        return self.play(TWO, "--check")

    @cached_property
    def converged(self) -> Run:
        """Two toolkits."""
        assert self.preview
        return self.play(TWO)

    @cached_property
    def again(self) -> Run:
        """Once more."""
        assert self.converged
        return self.play(TWO)

    @cached_property
    def reduced(self) -> Run:
        """One toolkit less, no default, cuDNN of another major."""
        assert self.again
        return self.play(ONE)

    @cached_property
    def removed(self) -> Run:
        """Everything taken back."""
        assert self.reduced
        extra = {**ALL_AT_ONCE, **PRIVATE, "gpugen_remove": True, "gpugen_allow_disruption": True}
        return self.checkout.play("--tags", "cuda_toolkit", playbook="remove.yml", extra=extra)


@pytest.fixture(scope="module")
def story(room: Room, checkout: Checkout) -> Iterator[Story]:
    own = Story(room, checkout)
    yield own
    room.stop([own.node])


def test_check_mode_says_what_would_come(story: Story) -> None:
    assert story.preview.code == 0, story.preview.output
    assert "would install cuda-toolkit-12-9, cuda-toolkit-13-0, cudnn9-cuda-12=9.12.0.*" in (
        story.preview.output
    )
    assert story.versions() == {}


def test_a_transaction_that_brings_a_driver_is_refused(story: Story) -> None:
    """CUD-01: simulated before anything is touched, and the pin is put back."""
    assert story.preview
    before = story.node.changes()
    run = story.play({"versions": ["12.8"]})
    assert run.code == 2
    message = run[NODE].messages[-1]
    assert "CUD-01: cuda-toolkit-12-8 would install cuda-drivers, " in message, run.output
    assert story.versions() == {}
    assert story.node.changes() == before


def test_a_driver_that_is_too_old_is_refused(story: Story) -> None:
    """CUD-02: checked against what is loaded, whatever the spec says."""
    assert story.preview
    loaded = "/run/fake-nvidia/proc/driver/nvidia/version"
    story.node.sh(f"mkdir -p {loaded.rpartition('/')[0]}; cat >{loaded}", LOADED.format("570.26"))
    run = story.play(ONE)
    story.node.run("rm", loaded)
    assert (run.code, run[NODE].changed) == (2, ())
    assert (
        "CUD-02: driver 570.26 is loaded, and cuda-toolkit-13-0 runs on 580"
        in (run[NODE].messages[-1])
    )


def test_somebody_elses_link_is_refused(story: Story) -> None:
    """CUD-03: /usr/local/cuda is touched through alternatives alone."""
    assert story.preview
    story.node.run("mkdir", "/usr/local/cuda")
    run = story.play(TWO)
    story.node.run("rmdir", "/usr/local/cuda")
    assert (run.code, run[NODE].changed) == (2, ())
    assert "CUD-03: /usr/local/cuda is not of the system's alternatives" in run[NODE].messages[-1]


def test_toolkits_side_by_side_and_cudnn_of_the_defaults_major(story: Story) -> None:
    """CUD-01, CUD-03, CUD-04: exact packages, the default chosen, cuDNN in one piece."""
    assert story.converged.code == 0, story.converged.output
    assert story.versions() == FIRST
    assert story.link() == "/usr/local/cuda-12.9"
    assert story.node.run("bash", "-lc", "nvcc").strip().endswith("release 12.9")


def test_a_second_run_changes_nothing_and_costs_little(story: Story) -> None:
    assert (story.again.code, story.again[NODE].changed) == (0, ()), story.again.output
    own = {task: n for task, n in story.again[NODE].modules.items() if "cuda_toolkit" in task}
    assert 1 <= sum(own.values()) <= 4, own


def test_an_upgrade_by_hand_moves_nothing(story: Story) -> None:
    """CUD-04: what came is pinned to its version, newer cuDNNs notwithstanding."""
    assert story.again
    story.node.run("apt-get", "-qq", "-y", "dist-upgrade")
    assert story.versions() == FIRST


def test_what_left_the_spec_goes_and_the_rest_stays(story: Story) -> None:
    assert story.reduced.code == 0, story.reduced.output
    found = story.versions()
    assert "cuda-nvcc-12-9" not in found
    assert found["cuda-nvcc-13-0"] == "13.0.48-1"
    assert found["libcudnn9-cuda-13"] == "9.13.0.50-1"
    assert story.link() == "/usr/local/cuda-13.0"
    assert story.node.read("/etc/profile.d/gpugen-cuda.sh") == ""


def test_removal_leaves_the_host_as_it_was(story: Story) -> None:
    """CUD-05: only what the role installed goes, and all of it."""
    assert story.removed.code == 0, story.removed.output
    assert story.versions() == {}
    quiet = ("var/lib/dpkg", "var/lib/misc")
    left = {
        path: kind
        for path, kind in story.node.changes().items()
        if path not in story.prepared and not kind.startswith("folder")
    }
    assert {path: kind for path, kind in left.items() if not path.startswith(quiet)} == {}
