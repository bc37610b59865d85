"""Debian hosts that get what computing needs alone; Ubuntu over both renamings is test_systems.py.

Rules: DRV-02, DRV-04, DRV-07, DRV-22, DRV-23.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from support.lab.nodes.machine import Machine
from support.lab.nodes.plays import ALL_AT_ONCE, DOMAIN, REBOOT, Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

FRESH, DESK = "fresh", "desk"
VERSION = "580.142"
ROLES = ("--tags", "gpu_prerequisites,nvidia_driver,preflight")
ALLOWED = {**ALL_AT_ONCE, **REBOOT}
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
        self.nodes = room.boot({FRESH: Machine(), DESK: Machine()})
        self.before = {name: node.packages() for name, node in self.nodes.items()}

    def render(self, release: str) -> None:
        """Render the driver of a release."""
        own = spec(self.room, self.nodes.values(), driver=VERSION)
        self.checkout.render({**own, "release": release})

    def step(self, *arguments: str, **options: Any) -> Step:
        """Play and look."""
        run = self.checkout.play(*ROLES, *arguments, **{"extra": ALLOWED, **options})
        return Step(run, {name: node.packages() for name, node in self.nodes.items()})

    @cached_property
    def desk(self) -> Step:
        """The complete set of the former release, on one host."""
        self.render("2026.11")
        return self.step("--limit", f"{DESK}.{DOMAIN}")

    @cached_property
    def converged(self) -> Step:
        """The newer release on both, one of which is fresh."""
        assert self.desk
        self.render("2026.12")
        return self.step()

    @cached_property
    def rerun(self) -> Step:
        """Both again."""
        assert self.converged
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
    assert found["nvidia-open"] == f"={VERSION}-1"
    assert {"xserver-xorg-core", "nvidia-settings"} <= found.keys()  # needed, and recommended


def test_a_fresh_debian_gets_no_display_and_nothing_that_is_recommended(story: Story) -> None:
    assert story.converged.run.code == 0, story.converged.run.output
    found = story.converged.packages[FRESH]
    assert display(found) == []
    assert "nvidia-open" not in found
    for name in ("nvidia-driver-cuda", "nvidia-kernel-open-dkms", "libnvidia-encode1"):
        assert found[name] == f"={VERSION}-1", name
    assert loaded(story, FRESH) == f"{VERSION}, Enabled"


def test_a_host_whose_driver_is_right_keeps_its_packages(story: Story) -> None:
    assert story.converged.run.code == 0
    assert story.converged.run[DESK].changed == ()
    assert story.converged.packages[DESK] == story.desk.packages[DESK]


def test_a_second_run_changes_nothing(story: Story) -> None:
    assert story.rerun.run.code == 0, story.rerun.run.output
    nodes = (FRESH, DESK)
    assert {name: story.rerun.run[name].changed for name in nodes} == dict.fromkeys(nodes, ())


def test_removal_leaves_the_packages_that_were_there(story: Story) -> None:
    assert story.removed.run.code == 0, story.removed.run.output
    assert story.removed.packages == story.before
