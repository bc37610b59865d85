"""Hosts that get what computing needs alone, on Debian and over both renamings on Ubuntu.

Rules: DRV-02, DRV-04, DRV-07, DRV-22, DRV-23.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from support.lab.nodes import deb, standins, ubuntu_standins
from support.lab.nodes.machine import Machine
from support.lab.nodes.plays import ALL_AT_ONCE, DOMAIN, REBOOT, Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

FRESH, DESK, UBUNTU = "fresh", "desk", "ubuntu"
DEBIANS = "580.142"
FIRST, SECOND, THIRD = "570.195.03", "580.178.04", "595.58.03"
ROLES = ("--tags", "gpu_prerequisites,nvidia_driver,preflight")
ALLOWED = {**ALL_AT_ONCE, **REBOOT}
NOBLE = 'ID=ubuntu\nNAME="Ubuntu"\nVERSION_ID="24.04"\nVERSION="24.04 LTS (Noble Numbat)"\n'
OF_ALL = ("linux-headers-", "dkms", "nvidia-container-toolkit", "libnvidia-container")
DISPLAY = ("xserver", "nvidia-settings", "nvidia-prime", "nvidia-xconfig", "screen-resolution")


@dataclass(frozen=True)
class Step:
    """A play, and all packages after it."""

    run: Run
    packages: Mapping[str, Mapping[str, str]]


class Story:
    """The hosts and the steps that they take."""

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.room, self.checkout = room, checkout
        folder = room.folder / "www" / "lean"
        folder.mkdir()
        (folder / "debian12").symlink_to("../debian12")
        own = [each for each in standins.packages() if each.name.startswith(OF_ALL)]
        ubuntu = folder / "ubuntu2404" / "x86_64"
        deb.write_repository(ubuntu, [*own, *ubuntu_standins.packages()], "amd64")
        deb.sign(ubuntu, room.key)
        dressed = Machine(files={"etc/os-release": NOBLE})
        self.nodes = room.boot({FRESH: Machine(), DESK: Machine(), UBUNTU: dressed})
        self.before = {name: node.packages() for name, node in self.nodes.items()}

    def render(self, release: str, ubuntu: str, **driver: Any) -> None:
        """Render a pool per host. ubuntu: its driver's version; driver: further keys of it."""
        own = spec(self.room, self.nodes.values())
        own["release"] = release
        own["hostDefaults"]["repositories"]["baseURL"] = f"{self.room.address}/lean"
        (pool,) = own["pools"]
        settings: dict[str, Any] = {
            FRESH: {"os": "debian-12", "driver": {"version": DEBIANS}},
            DESK: {"os": "debian-12", "driver": {"version": DEBIANS}},
            UBUNTU: {"os": "ubuntu-24.04", "driver": {"version": ubuntu, **driver}},
        }
        own["pools"] = [
            {**pool, "name": name, "hosts": [host], "host": settings[name]}
            for name, host in zip(self.nodes, pool["hosts"], strict=True)
        ]
        self.checkout.render(own)

    def step(self, *arguments: str, **options: Any) -> Step:
        """Play and look."""
        run = self.checkout.play(*ROLES, *arguments, **{"extra": ALLOWED, **options})
        return Step(run, {name: node.packages() for name, node in self.nodes.items()})

    @cached_property
    def desk(self) -> Step:
        """The complete set of the former release, on one host."""
        self.render("2026.11", FIRST)
        return self.step("--limit", f"{DESK}.{DOMAIN}")

    @cached_property
    def converged(self) -> Step:
        """The newer release on all of them, two of which are fresh."""
        assert self.desk
        self.render("2026.12", FIRST)
        return self.step()

    @cached_property
    def first_renaming(self) -> Step:
        """From 570 to 580: the fabric's packages lose their suffix."""
        assert self.converged
        self.render("2026.12", SECOND)
        return self.step("--limit", f"{UBUNTU}.{DOMAIN}")

    @cached_property
    def second_renaming(self) -> Step:
        """From 580 to 595, where all packages have lost it; with graphics."""
        assert self.first_renaming
        self.render("2026.12", THIRD, graphics=True)
        return self.step("--limit", f"{UBUNTU}.{DOMAIN}")

    @cached_property
    def rerun(self) -> Step:
        """All of them again."""
        assert self.second_renaming
        return self.step()

    @cached_property
    def removed(self) -> Step:
        """Everything taken away."""
        assert self.rerun
        return self.step(playbook="remove.yml", extra={**ALLOWED, "gpugen_remove": True})


@pytest.fixture(scope="module")
def story(room: Room, checkout: Checkout) -> Iterator[Story]:
    own = Story(room, checkout)
    yield own
    room.stop(own.nodes.values())


def loaded(story: Story, node: str) -> str:
    query = "nvidia-smi --query-gpu=driver_version,persistence_mode --format=csv,noheader"
    (line,) = set(story.nodes[node].sh(query).splitlines())
    return line


def display(packages: Mapping[str, str]) -> list[str]:
    return [name for name in packages if name.startswith(DISPLAY)]


def test_the_former_release_brings_the_complete_set(story: Story) -> None:
    assert story.desk.run.code == 0, story.desk.run.output
    found = story.desk.packages[DESK]
    assert found["nvidia-open"] == f"={DEBIANS}-1"
    assert {"xserver-xorg-core", "nvidia-settings"} <= found.keys()  # needed, and recommended


def test_a_fresh_debian_gets_no_display_and_nothing_that_is_recommended(story: Story) -> None:
    assert story.converged.run.code == 0, story.converged.run.output
    found = story.converged.packages[FRESH]
    assert display(found) == []
    assert "nvidia-open" not in found
    for name in ("nvidia-driver-cuda", "nvidia-kernel-open-dkms", "libnvidia-encode1"):
        assert found[name] == f"={DEBIANS}-1", name
    assert loaded(story, FRESH) == f"{DEBIANS}, Enabled"


def test_a_host_whose_driver_is_right_keeps_its_packages(story: Story) -> None:
    assert story.converged.run.code == 0
    assert story.converged.run[DESK].changed == ()
    assert story.converged.packages[DESK] == story.desk.packages[DESK]


def test_ubuntu_up_to_580_gets_the_headless_set_with_its_suffix(story: Story) -> None:
    found = story.converged.packages[UBUNTU]
    assert display(found) == []
    for name in ("nvidia-headless-570-open", "libnvidia-encode-570", "libnvidia-decode-570"):
        assert found[name] == f"={FIRST}-0ubuntu1", name
    assert loaded(story, UBUNTU)  # of whatever version runs by now


def test_another_branch_leaves_nothing_of_the_former(story: Story) -> None:
    assert story.first_renaming.run.code == 0, story.first_renaming.run.output
    found = story.first_renaming.packages[UBUNTU]
    assert found["nvidia-headless-580-open"] == f"={SECOND}-0ubuntu1"
    assert [name for name in found if "-570" in name] == []
    assert display(found) == []


def test_graphics_adds_gl_and_vulkan_and_no_display(story: Story) -> None:
    assert story.second_renaming.run.code == 0, story.second_renaming.run.output
    found = story.second_renaming.packages[UBUNTU]
    for name in ("nvidia-headless-no-dkms-open", "libnvidia-encode", "libnvidia-gl"):
        assert found[name] == f"={THIRD}-1ubuntu1", name
    assert [name for name in found if "-580" in name] == []
    assert display(found) == []
    assert loaded(story, UBUNTU) == f"{THIRD}, Enabled"


def test_a_second_run_changes_nothing(story: Story) -> None:
    assert story.rerun.run.code == 0, story.rerun.run.output
    nodes = (FRESH, DESK, UBUNTU)
    assert {name: story.rerun.run[name].changed for name in nodes} == dict.fromkeys(nodes, ())


def test_removal_leaves_the_packages_that_were_there(story: Story) -> None:
    assert story.removed.run.code == 0, story.removed.run.output
    assert story.removed.packages == story.before
