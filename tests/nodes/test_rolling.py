"""A driver is rolled out over five nodes of a real API server, one of which turns out bad.

The nodes' kubelets are played by KWOK, pods are placed by a real scheduler and evicted by kubectl;
what is changed, rebooted and verified are booted hosts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest

from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import Program
from support.lab.nodes.machine import Machine
from support.lab.nodes.members import AGENTS, CONTEXT, Members
from support.lab.nodes.node import Node
from support.lab.nodes.plays import DOMAIN, REBOOT, Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

OLD, NEW = "580.105.08", "580.142"
NODES = tuple(f"gpu{number}" for number in range(1, 6))
FIRST, GOOD, BAD, *BEHIND = NODES
LAST = BEHIND[-1]
SPARE = "spare"  # a node without GPUs, which takes the pods
ROLLOUT = {"serial": [1, 2, 3], "allowDisruption": True}
FAULT = "/etc/tmpfiles.d/lost.conf"  # makes the driver find a GPU too few, from boot to boot
PODS = 6
CORDON, EVICT, INSTALL, UNCORDON = (
    "gpu_node : Cordon the node, with an annotation that says who did (DRV-15)",
    "gpu_node : Evict the pods, as their disruption budgets allow (DRV-15)",
    "nvidia_driver : Install the whole set in one transaction (DRV-02, DRV-07, DRV-22)",
    "gpu_node : Uncordon the node, which the play cordoned (KUB-03)",
)


class RollOut:
    """The steps, each a property that is computed once."""

    def __init__(self, room: Room, checkout: Checkout, plane: Plane) -> None:
        self.room, self.checkout = room, checkout
        self.members = Members(plane, (*NODES, SPARE), checkout.folder)
        self.hosts: dict[str, Node] = {}

    def render(self, driver: str, rollout: dict[str, Any]) -> None:
        """Render the spec with a driver."""
        access = {"kubeconfigContext": CONTEXT}
        content = spec(self.room, self.hosts.values(), driver=driver, access=access)
        self.checkout.render({**content, "rollout": rollout})

    def play(self, *arguments: str, **extra: Any) -> Run:
        """Run the play as rendered."""
        private = {"__gpu_node_kubectl": self.members.kubectl, "gpu_node_patience": 60}
        return self.checkout.play(*arguments, extra={**private, **extra})

    def boots(self) -> dict[str, str]:
        """Return the boot of every host."""
        path = "/proc/sys/kernel/random/boot_id"
        return {name: node.run("cat", path) for name, node in self.hosts.items()}

    def work_on_the_first(self) -> None:
        """Run pods, all of them on the first node, so that it has something to be emptied of."""
        others = (*NODES[1:], SPARE)
        for name in others:
            self.members.cordon(name, is_on=True)
        self.members.deploy(PODS)
        for name in others:
            self.members.cordon(name, is_on=False)

    @cached_property
    def installed(self) -> Run:
        """The first driver, which interrupts nobody; one host is made, the others are like it."""
        self.hosts = self.room.boot({FIRST: Machine(has_kubelet=True)})
        self.members.advertise(FIRST, gpu="4")
        self.members.daemon("device-plugin", "train")
        self.work_on_the_first()
        self.render(OLD, {})
        run = self.play()
        assert run.code == 0, run.output
        layer = self.hosts[FIRST].keep(self.checkout.folder)
        others = dict.fromkeys(NODES[1:], Machine(has_kubelet=True, layer=layer))
        self.hosts.update(self.room.boot(others))
        for name in others:
            self.members.advertise(name, gpu="4")
            self.members.label(name, "gpugen/pool", "train")
        return run

    @cached_property
    def held_back(self) -> Run:
        """Another driver, unconfirmed."""
        assert self.installed
        self.render(NEW, {"serial": [1, 2, 3]})
        return self.play("--limit", f"{FIRST}.{DOMAIN}")

    @cached_property
    def rolled(self) -> tuple[Run, list[str], dict[str, str]]:
        """The word is given, one host is bad, and somebody cordoned the last one."""
        assert self.held_back
        self.hosts[BAD].sh(f"echo 'f /run/fake-nvidia/lost' >{FAULT}")
        self.members.cordon(LAST, is_on=True)
        self.render(NEW, ROLLOUT)
        boots, start = self.boots(), len(self.members.calls)
        run = self.play()
        after = self.boots()
        rebooted = {name: "yes" if boots[name] != after[name] else "no" for name in NODES}
        return run, self.members.calls[start:], rebooted

    @cached_property
    def holders(self) -> dict[str, str]:
        """Who cordons which node after that."""
        assert self.rolled
        return {name: self.members.holder(name) for name in NODES}

    @cached_property
    def continued(self) -> Run:
        """The same again, after the bad host was repaired."""
        assert self.holders
        self.hosts[BAD].sh(f"rm {FAULT} /run/fake-nvidia/lost")
        return self.play()


@pytest.fixture(scope="module")
def rollout(
    room: Room, checkout: Checkout, plane: Plane, kwok: Program, scheduler: Program
) -> Iterator[RollOut]:
    assert kwok.is_running
    assert scheduler.is_running
    own = RollOut(room, checkout, plane)
    yield own
    own.members.leave()
    room.stop(own.hosts.values())


def test_the_first_driver_empties_no_node(rollout: RollOut) -> None:
    assert CORDON not in rollout.installed[FIRST].changed
    assert rollout.members.running() == [FIRST] * PODS


def test_without_a_word_nothing_is_touched(rollout: RollOut) -> None:
    """DRV-15: the refusal names the change that waits and the word to say."""
    run = rollout.held_back
    assert (run.code, run[FIRST].changed) == (2, ())
    (message,) = run[FIRST].messages
    assert f"driver {OLD} -> {NEW}" in message
    assert "-e gpugen_allow_disruption=true" in message


def test_the_bad_host_is_named_and_why(rollout: RollOut) -> None:
    run, _, _ = rollout.rolled
    assert run.code == 2, run.output
    (message,) = run[BAD].messages
    assert "DRV-21: the driver shows 3 GPUs, expected 4" in message


def test_a_node_is_emptied_changed_rebooted_and_released_in_this_order(rollout: RollOut) -> None:
    """DRV-15, KUB-03."""
    run, _, rebooted = rollout.rolled
    changed = run[FIRST].changed
    wanted = [CORDON, EVICT, INSTALL, "Reboot", UNCORDON]
    assert set(wanted) <= set(changed), changed
    places = [changed.index(name) for name in wanted]
    assert places == sorted(places), changed
    assert changed[-1] == UNCORDON
    assert rebooted[FIRST] == "yes"


def test_a_batch_begins_when_the_one_in_front_is_released(rollout: RollOut) -> None:
    _, calls, _ = rollout.rolled
    steps = [
        (call.split()[2], "unschedulable" in call and '"add"' in call)
        for call in calls
        if call.startswith("patch node")
    ]
    assert steps[:2] == [(FIRST, True), (FIRST, False)]
    assert {name for name, is_cordon in steps[2:] if is_cordon} == {GOOD, BAD}
    assert all(is_cordon for _, is_cordon in steps[2:])


def test_the_batch_of_the_bad_host_stays_cordoned_and_nobody_behind_is_touched(
    rollout: RollOut,
) -> None:
    run, _, rebooted = rollout.rolled
    assert rollout.holders == {
        FIRST: "nobody",
        GOOD: "gpugen",
        BAD: "gpugen",
        **dict.fromkeys(BEHIND[:-1], "nobody"),
        LAST: "somebody",
    }
    for name in BEHIND:
        assert (run[name].changed, rebooted[name]) == ((), "no")
        assert OLD in rollout.hosts[name].versions()["nvidia-open"]


def test_agents_of_ours_are_gone_while_the_driver_changes(rollout: RollOut) -> None:
    """They hold the GPUs; a label brings them back (DRV-13)."""
    assert rollout.rolled
    pods = rollout.members.pods(AGENTS, "gpugen/pool=train")
    assert BAD not in {pod["spec"]["nodeName"] for pod in pods}
    assert FIRST in {pod["spec"]["nodeName"] for pod in pods}


def test_the_next_run_continues_and_releases(rollout: RollOut) -> None:
    run = rollout.continued
    assert run.code == 0, run.output
    assert {name: rollout.members.holder(name) for name in NODES} == {
        **dict.fromkeys(NODES[:-1], "nobody"),
        LAST: "somebody",
    }
    for name, host in rollout.hosts.items():
        assert NEW in host.versions()["nvidia-open"], name
    assert INSTALL not in run[BAD].changed
    assert rollout.members.labels(BAD)["gpugen/pool"] == "train"
    rollout.members.wait_for_pods(PODS)


def test_who_is_done_is_left_alone(rollout: RollOut) -> None:
    assert rollout.continued[FIRST].changed == ()


def test_all_of_it_is_proven_by_the_second_play(rollout: RollOut) -> None:
    assert rollout.continued
    extra = {"__gpu_node_kubectl": rollout.members.kubectl}
    arguments = ("--limit", f"{BAD}.{DOMAIN},{LAST}.{DOMAIN}")
    run = rollout.checkout.play(*arguments, playbook="verify.yml", extra={**extra, **REBOOT})
    assert run.code == 0, run.output
