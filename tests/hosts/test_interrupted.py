"""A first installation that is killed at a random moment: the next run finishes its work (GEN-10).

GPUGEN_LAB_SEED sets the moment; a failure tells the one that led to it.
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

pytestmark = [pytest.mark.hosts, pytest.mark.further, pytest.mark.xdist_group(__name__)]

SEED = int(os.environ.get("GPUGEN_LAB_SEED") or random.SystemRandom().randrange(10**6))
TOLD_APART = ("etc/hostname", "etc/hosts", "etc/machine-id", "etc/systemd/network")
CALM, KILLED = "calm", "killed"


class Story:
    """One host that is left alone, one whose play is killed; then both are compared."""

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.checkout = checkout
        self.nodes = room.boot({CALM: Machine(), KILLED: Machine()})
        checkout.render(spec(room, self.nodes.values()))

    def play(self, node: str, kill_at: int = 0) -> Run:
        """Bring a node to the spec, or be killed on the way."""
        limit = ("--limit", f"{node}.lab.example")
        return self.checkout.play(*limit, extra={**ALL_AT_ONCE, **REBOOT}, kill_at=kill_at)

    @cached_property
    def calm(self) -> Run:
        """An undisturbed installation."""
        return self.play(CALM)

    @cached_property
    def killed(self) -> Run:
        """One that is killed between its first write and its end."""
        own = self.calm[CALM]
        return self.play(KILLED, random.Random(SEED).randint(own.first_write, own.module_runs))

    @cached_property
    def healed(self) -> Run:
        """The run after it."""
        assert self.killed
        return self.play(KILLED)

    @cached_property
    def rerun(self) -> Run:
        """A last run over the host that had been disturbed."""
        assert self.healed
        return self.play(KILLED)

    def state(self, name: str) -> Mapping[str, str]:
        """Return what differs between a host and the base, less what tells hosts apart."""
        changes = self.nodes[name].changes()
        return {p: what for p, what in changes.items() if not p.startswith(TOLD_APART)}


@pytest.fixture(scope="module")
def story(room: Room, checkout: Checkout) -> Iterator[Story]:
    own = Story(room, checkout)
    yield own
    room.stop(own.nodes.values())


def test_the_next_run_finishes_what_was_killed(story: Story) -> None:
    assert story.calm.code == 0, story.calm.output
    assert story.killed.code in {-9, 0}, (SEED, story.killed.output[-1500:])
    assert story.healed.code == 0, (SEED, story.healed.output)


def test_a_run_over_the_healed_host_changes_nothing(story: Story) -> None:
    assert story.rerun.code == 0, (SEED, story.rerun.output)
    assert story.rerun[KILLED].changed == (), SEED


def test_the_host_is_as_if_nothing_had_happened(story: Story) -> None:
    assert story.rerun
    calm, killed = (story.state(name) for name in (CALM, KILLED))
    assert {path for path in calm | killed if calm.get(path) != killed.get(path)} == set(), SEED
    assert story.nodes[KILLED].packages() == story.nodes[CALM].packages(), SEED
