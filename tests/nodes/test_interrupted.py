"""A first installation that is killed at a random moment, and one in which the package manager
breaks off: the next run finishes its work (GEN-10).

GPUGEN_LAB_SEED sets the moment; a failure names it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property

import pytest

from support.lab.nodes.machine import Machine
from support.lab.nodes.plays import ALL_AT_ONCE, REBOOT, SEED, Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

TOLD_APART = ("etc/hostname", "etc/hosts", "etc/machine-id", "etc/systemd/network")
CALM, KILLED, BROKEN = "calm", "killed", "broken"
FAULT = "/var/lib/lab/dkms-breaks"
VERSION = "580.105.08"  # that spec() asks for
RECORD = "/var/lib/misc/gpugen-nvidia-driver.json"
PIN = "/etc/apt/preferences.d/gpugen-nvidia-driver"


class Story:
    """One host that is left alone, one whose play is killed, one whose DKMS breaks; then all are
    compared.
    """

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.checkout = checkout
        self.nodes = room.boot(dict.fromkeys((CALM, KILLED, BROKEN), Machine()))
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
        return self.play(KILLED, self.calm[CALM].moment)

    @cached_property
    def healed(self) -> Run:
        """The run after it."""
        assert self.killed
        return self.play(KILLED)

    @cached_property
    def broken_off(self) -> tuple[Run, str, str]:
        """DKMS cannot build, so apt breaks off in the middle; and the record and pin after it."""
        assert self.calm
        self.nodes[BROKEN].sh(f"mkdir -p {FAULT}")
        run = self.play(BROKEN)
        self.nodes[BROKEN].sh(f"rmdir -p --ignore-fail-on-non-empty {FAULT}")
        return run, *(self.nodes[BROKEN].read(path) for path in (RECORD, PIN))

    @cached_property
    def repaired(self) -> tuple[Run, Run]:
        """The runs after what broke was repaired."""
        assert self.broken_off
        return self.play(BROKEN), self.play(BROKEN)

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


def test_a_transaction_that_breaks_off_is_said_to_be_one(story: Story) -> None:
    """DRV-22, GEN-11: nothing claims that the host is as before, and the record knows what came."""
    run, record, pin = story.broken_off
    assert run.code == 2
    (message,) = run[BROKEN].messages[-1:]
    assert f"DRV-22: apt broke off while it installed {VERSION}" in message
    assert "stand-in of DKMS: bad exit status: 2" in message
    assert "nvidia-kernel-open-dkms" in json.loads(record)["installed"]
    assert f"Pin: version {VERSION}-*" in pin


def test_the_next_run_finishes_what_broke_off(story: Story) -> None:
    run, again = story.repaired
    assert run.code == 0, run.output
    assert again[BROKEN].changed == ()
    calm, broken = (story.state(name) for name in (CALM, BROKEN))
    assert {path for path in calm | broken if calm.get(path) != broken.get(path)} == set()
    assert story.nodes[BROKEN].packages() == story.nodes[CALM].packages()
