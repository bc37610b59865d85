"""A life on Debian 13 and on Ubuntu 24.04, whose packages are renamed twice between 570 and 595.

Debian 13 is real; the other is Debian 12 that says it is Ubuntu, with the vendor's repository for
Ubuntu: its names, its dependencies, its packages of switches.
Rules: GEN-04, DRV-02, DRV-04, DRV-07, DRV-08, DRV-22, DRV-23, CTK-01.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from support.lab.nodes.machine import DEBIAN_13, UBUNTU, Machine
from support.lab.nodes.plays import ALL_AT_ONCE, DOMAIN, REBOOT, Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

TRIXIE, NOBLE = "trixie", "noble"
NODES = (TRIXIE, NOBLE)
SYSTEMS = {TRIXIE: DEBIAN_13, NOBLE: UBUNTU}
OLD, NEW = "580.105.08", "580.142"  # on Debian
FIRST, SECOND, THIRD = "570.195.03", "580.178.04", "595.58.03"  # on Ubuntu
ALLOWED = {**ALL_AT_ONCE, **REBOOT}
DISPLAY = ("xserver", "nvidia-settings", "nvidia-prime", "nvidia-xconfig", "screen-resolution")
OF_DPKG = ("var/lib/dpkg/", "var/lib/apt/")  # the same packages in another order


@dataclass(frozen=True)
class Step:
    """A play, and all packages and changed paths after it."""

    run: Run
    packages: Mapping[str, Mapping[str, str]]
    changes: Mapping[str, Mapping[str, str]]


class Story:
    """The hosts and the steps that they take."""

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.room, self.checkout = room, checkout
        machines = {name: Machine(system=SYSTEMS[name], switches=2) for name in NODES}
        self.nodes = room.boot(machines)
        self.before = self.look(Run(0, {}, ""))

    def look(self, run: Run) -> Step:
        """Return what the hosts look like after a run."""
        return Step(
            run,
            {name: node.packages() for name, node in self.nodes.items()},
            {name: node.changes() for name, node in self.nodes.items()},
        )

    def step(self, *arguments: str, **options: Any) -> Step:
        """Play and look."""
        return self.look(self.checkout.play(*arguments, **{"extra": ALLOWED, **options}))

    def render(self, debian: str, ubuntu: str, **driver: Any) -> None:
        """Render a pool per host. debian, ubuntu: versions; driver: further keys on Ubuntu."""
        own = {**spec(self.room, self.nodes.values()), "release": "2026.12"}
        own["hostDefaults"]["repositories"]["baseURL"] = self.room.others
        (pool,) = own["pools"]
        drivers = {TRIXIE: {"version": debian}, NOBLE: {"version": ubuntu, **driver}}
        own["pools"] = [
            {
                **pool,
                "name": name,
                "hosts": [host],
                "host": {"os": SYSTEMS[name], "driver": drivers[name]},
            }
            for name, host in zip(NODES, pool["hosts"], strict=True)
        ]
        self.checkout.render(own)

    @cached_property
    def converged(self) -> Step:
        """Both for the first time."""
        self.render(OLD, FIRST)
        return self.step()

    @cached_property
    def rerun(self) -> Step:
        """The same again."""
        assert self.converged
        return self.step()

    @cached_property
    def upgraded(self) -> Step:
        """On Ubuntu from 570 to 580: packages of switches lose the branch in their name."""
        assert self.rerun
        self.render(NEW, SECOND)
        return self.step()

    @cached_property
    def second_renaming(self) -> Step:
        """From 580 to 595, where all packages have lost it; with graphics."""
        assert self.upgraded
        self.render(NEW, THIRD, graphics=True)
        return self.step("--limit", f"{NOBLE}.{DOMAIN}")

    @cached_property
    def last_rerun(self) -> Step:
        """Both again after all that."""
        assert self.second_renaming
        return self.step()

    @cached_property
    def removed(self) -> Step:
        """Everything taken away."""
        assert self.last_rerun
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


def check(packages: Mapping[str, str], version: str, *names: str) -> None:
    """Fail unless packages are there in a version and held."""
    assert {name: packages.get(name) for name in names} == dict.fromkeys(names, f"={version}")


def test_debian_13_gets_driver_fabric_and_toolkit(story: Story) -> None:
    assert story.converged.run.code == 0, story.converged.run.output
    found = story.converged.packages[TRIXIE]
    check(found, f"{OLD}-1", "nvidia-driver-cuda", "nvidia-kernel-open-dkms", "libnvidia-nscq")
    check(found, f"{OLD}-1", "nvidia-fabricmanager")
    check(found, "1.20.0-1", "nvidia-container-toolkit")


def test_ubuntu_up_to_580_gets_the_headless_set_with_its_suffix(story: Story) -> None:
    assert story.converged.run.code == 0, story.converged.run.output
    found = story.converged.packages[NOBLE]
    names = ("nvidia-headless-570-open", "libnvidia-encode-570", "libnvidia-decode-570")
    check(found, f"{FIRST}-0ubuntu1", *names)
    check(found, f"{FIRST}-1", "nvidia-fabricmanager-570", "libnvidia-nscq-570")
    check(found, "1.20.0-1", "nvidia-container-toolkit")
    assert display(found) == []


@pytest.mark.parametrize("step", ["rerun", "last_rerun"])
def test_a_second_run_changes_nothing(story: Story, step: str) -> None:
    former = {"rerun": "converged", "last_rerun": "second_renaming"}
    found, before = getattr(story, step), getattr(story, former[step])
    assert found.run.code == 0, found.run.output
    assert {name: found.run[name].changed for name in NODES} == dict.fromkeys(NODES, ())
    assert found.changes == before.changes


def test_debian_13_is_upgraded(story: Story) -> None:
    assert story.upgraded.run.code == 0, story.upgraded.run.output
    found = story.upgraded.packages[TRIXIE]
    names = ("nvidia-driver-cuda", "nvidia-kernel-open-dkms", "nvidia-fabricmanager")
    check(found, f"{NEW}-1", *names)
    assert story.last_rerun
    assert loaded(story, TRIXIE) == f"{NEW}, Enabled"


def test_the_branch_leaves_the_names_of_the_switches_packages(story: Story) -> None:
    assert story.upgraded.run.code == 0, story.upgraded.run.output
    found = story.upgraded.packages[NOBLE]
    check(found, f"{SECOND}-0ubuntu1", "nvidia-headless-580-open")
    check(found, f"{SECOND}-1", "nvidia-fabricmanager", "libnvidia-nscq")
    assert [name for name in found if "-570" in name] == []
    assert display(found) == []


def test_then_it_leaves_all_names_and_graphics_adds_gl_and_no_display(story: Story) -> None:
    assert story.second_renaming.run.code == 0, story.second_renaming.run.output
    found = story.second_renaming.packages[NOBLE]
    names = ("nvidia-headless-no-dkms-open", "libnvidia-encode", "libnvidia-gl")
    check(found, f"{THIRD}-1ubuntu1", *names)
    check(found, f"{THIRD}-1", "nvidia-fabricmanager", "libnvidia-nscq")
    assert [name for name in found if "-580" in name] == []
    assert display(found) == []
    assert story.last_rerun
    assert loaded(story, NOBLE) == f"{THIRD}, Enabled"


@pytest.mark.parametrize("name", NODES)
def test_after_removal_the_host_is_as_it_was(story: Story, name: str) -> None:
    step = story.removed
    assert step.run.code == 0, step.run.output
    assert step.packages[name] == story.before.packages[name]
    before, after = story.before.changes[name], step.changes[name]
    differ = {path for path in before | after if before.get(path) != after.get(path)}
    assert {path for path in differ if not path.startswith(OF_DPKG)} == set()
