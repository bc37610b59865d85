"""A play that is killed at a random moment: the next run finishes its work.

GPUGEN_LAB_SEED sets the moments; a failure tells the one that led to it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping
from functools import cached_property

import pytest

from lab.hosts.machine import Machine
from lab.hosts.plays import ALL_AT_ONCE, REBOOT, Checkout, Run, spec
from lab.hosts.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

SEED = int(os.environ.get("GPUGEN_LAB_SEED") or random.SystemRandom().randrange(10**6))
OLD, NEW = "580.105.08", "580.142"
MOMENTS = {OLD: (18, 70), NEW: (18, 50)}  # module runs between which the first and last write lie
TOLD_APART = ("etc/hostname", "etc/hosts", "etc/machine-id", "etc/systemd/network")


class Story:
    """One host that is left alone, one whose plays are killed; then both are compared."""

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.random = random.Random(SEED)
        self.room = room
        self.checkout = checkout
        self.nodes = room.boot({"calm": Machine(), "killed": Machine()})

    def play(self, driver: str, node: str, *, is_killed: bool = False) -> Run:
        """Bring a node to a driver version, or be killed on the way."""
        self.checkout.render(spec(self.room, self.nodes.values(), driver=driver))
        at = self.random.randint(*MOMENTS[driver]) if is_killed else 0
        limit = ("--limit", f"{node}.lab.example")
        return self.checkout.play(*limit, extra={**ALL_AT_ONCE, **REBOOT}, kill_at=at)

    @cached_property
    def calm(self) -> list[Run]:
        """Install, then upgrade, both undisturbed."""
        return [self.play(version, "calm") for version in (OLD, NEW)]

    @cached_property
    def killed(self) -> list[Run]:
        """Install and upgrade, each killed once before it may finish."""
        return [
            self.play(version, "killed", is_killed=is_killed)
            for version in (OLD, NEW)
            for is_killed in (True, False)
        ]

    @cached_property
    def rerun(self) -> Run:
        """A last run over the host that had been disturbed."""
        assert self.killed
        return self.play(NEW, "killed")


@pytest.fixture(scope="module")
def story(room: Room, checkout: Checkout) -> Iterator[Story]:
    own = Story(room, checkout)
    yield own
    room.stop(own.nodes.values())


def test_the_next_run_finishes_what_was_killed(story: Story) -> None:
    codes = [run.code for run in story.killed]
    assert codes[1::2] == [0, 0], (SEED, codes, story.killed[1].output, story.killed[3].output)
    assert set(codes[::2]) <= {-9, 0}, (SEED, codes, story.killed[0].output[-1500:])


def test_the_host_is_as_if_nothing_had_happened(story: Story) -> None:
    assert [run.code for run in story.calm] == [0, 0]
    assert story.rerun.code == 0
    calm, killed = (_state(story, name) for name in ("calm", "killed"))
    assert {path for path in calm | killed if calm.get(path) != killed.get(path)} == set(), SEED
    assert story.nodes["killed"].versions() == story.nodes["calm"].versions()


def test_a_run_over_the_healed_host_changes_nothing(story: Story) -> None:
    assert story.rerun["killed"].changed == (), SEED


def _state(story: Story, name: str) -> Mapping[str, str]:
    changes = story.nodes[name].changes()
    return {path: kind for path, kind in changes.items() if not path.startswith(TOLD_APART)}
