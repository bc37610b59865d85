"""Two runs over one node: one has its turn, the other is refused and gives nothing back (DRV-15).

One booted host is a node of a real API server; KWOK plays its kubelet. What needs an empty node
here is a word on the kernel's command line.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import Program, wait_until
from support.lab.nodes.members import CONTEXT, Members
from support.lab.nodes.plays import ALL_AT_ONCE, REBOOT, Checkout, Run, spec
from support.lab.nodes.room import Room
from support.lab.nodes.tuning import PRIVATE, machine

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

NODE = "turn-" + "n" * 58  # 63 characters, the longest name of a host
HOST = "turn"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
LEASE = f"{LEASES}/gpugen-{NODE}"
FILE = "/var/lib/gpugen/turn.json"
EVICT = "gpu_node : Evict the pods, as their disruption budgets allow (DRV-15)"
STRANGER = {
    "id": "0123456789ab",
    "who": "ops@other",
    "process": {"boot": "another", "space": "pid:[1]", "pid": 1, "start": "1"},
}
SLOW = """\
#!/bin/sh
case "$*" in
  *dry-run*) ;;
  *" drain "*)
    while [ -e {hold} ]; do sleep 0.2; done
    if [ -e {dies} ]; then exit 1; fi ;;
esac
exec {kubectl} "$@"
"""
LATE = """\
- hosts: gpu
  tasks:
    - gpugen.hosts.decide: {roles: [gpu_node]}
    - ansible.builtin.import_role: {name: gpugen.hosts.gpu_node, tasks_from: release}
"""


def lease(run: dict[str, Any], renewed: str) -> dict[str, Any]:
    """Return a Lease as a run of another control host leaves it."""
    return {
        "metadata": {
            "name": f"gpugen-{NODE}",
            "annotations": {"gpugen/run": json.dumps(run)},
        },
        "spec": {
            "holderIdentity": f"{run['id']} {run['who']}",
            "leaseDurationSeconds": 7200,
            "acquireTime": renewed,
            "renewTime": renewed,
        },
    }


class Site:
    """The steps, each a property that is computed once."""

    def __init__(self, room: Room, checkout: Checkout, plane: Plane) -> None:
        self.room, self.checkout = room, checkout
        self.members = Members(plane, (NODE,), checkout.folder)
        self.hosts = room.boot({HOST: machine()})
        self.hold, self.dies = (checkout.folder / name for name in ("hold", "dies"))
        slow = checkout.folder / "slow-kubectl"
        own, *options = self.members.kubectl[3:]
        slow.write_text(SLOW.format(hold=self.hold, dies=self.dies, kubectl=own))
        slow.chmod(0o755)
        self.slow = [*self.members.kubectl[:3], str(slow), *options]

    def render(self, pages: int, *, has_api: bool = True) -> None:
        """Ask for a setting that needs a boot."""
        access = {"kubeconfigContext": CONTEXT} if has_api else {}
        content = spec(self.room, self.hosts.values(), access=access)
        tuning = {"hugepages": {"1Gi": pages}}
        content["hostDefaults"] |= {"driver": {"method": "none"}, "tuning": tuning}
        if has_api:
            content["pools"][0]["hosts"][0]["nodeName"] = NODE
        self.checkout.render({**content, "drain": {"timeout": "20s"}})

    def play(self, *arguments: str, playbook: str = "site.yml", **extra: Any) -> Run:
        """Run what concerns the setting."""
        private = {"__gpu_node_kubectl": self.members.kubectl, "gpu_node_patience": 20}
        every = {**ALL_AT_ONCE, **PRIVATE, **private, **REBOOT, **extra}
        tags = ("--tags", "gpu_tuning") if playbook == "site.yml" else ()
        return self.checkout.play(*tags, *arguments, playbook=playbook, extra=every)

    @contextmanager
    def first(self) -> Iterator[list[Run]]:
        """Run a play that stays in its drain; leave it when the block ends."""
        runs: list[Run] = []
        self.hold.touch()
        thread = threading.Thread(
            target=lambda: runs.append(self.play(__gpu_node_kubectl=self.slow))
        )
        thread.start()
        try:
            wait_until("cordon", lambda: bool(runs) or self.members.holder(NODE) == "gpugen", 240)
            assert not runs, runs[0].output
            yield runs
        finally:
            self.hold.unlink()
            thread.join()

    def lease(self) -> Any:
        """Return the node's Lease."""
        return self.members.api.find(LEASE)

    def boot(self) -> str:
        """Return the host's boot."""
        return self.hosts[HOST].run("cat", "/proc/sys/kernel/random/boot_id")

    @cached_property
    def crossed(self) -> dict[str, Any]:
        """A second run while the first one empties the node."""
        self.render(2)
        before = self.boot()
        with self.first() as runs:
            held = self.lease()
            second = self.play()
            checked = self.play("--check")
            (self.checkout.plays / "late.yml").write_text(LATE)
            late = self.play(playbook="late.yml")
            same = (
                self.lease()["metadata"]["resourceVersion"] == held["metadata"]["resourceVersion"]
            )
            holder = self.members.holder(NODE)
        found = {"second": second, "checked": checked, "late": late, "held": held}
        return {**found, "same": same, "holder": holder, "first": runs[0], "before": before}

    @cached_property
    def strange(self) -> tuple[Run, Run, Run]:
        """A turn of another control host: refused, taken on demand, taken when it ran out."""
        assert self.crossed
        self.render(4)
        self.members.create(LEASES, lease(STRANGER, "2099-01-01T00:00:00.000000Z"))
        refused = self.play()
        taken = self.play(gpugen_take_over=True)  # and ends it
        self.render(6)
        self.members.api.post(LEASES, lease(STRANGER, "2026-01-01T00:00:00.000000Z"))
        return refused, taken, self.play()

    @cached_property
    def killed(self) -> tuple[Any, Run]:
        """A run is killed in its turn; what it leaves, and the next run."""
        assert self.strange
        self.render(8)
        with self.first():
            run = json.loads(self.lease()["metadata"]["annotations"]["gpugen/run"])
            os.kill(run["process"]["pid"], signal.SIGKILL)
            self.dies.touch()
        self.dies.unlink()
        return self.lease(), self.play()

    @cached_property
    def alone(self) -> tuple[Run, Run, str]:
        """Without an API the turn is a file on the host."""
        assert self.killed
        self.render(10, has_api=False)
        node = self.hosts[HOST]
        times = {"since": "2026-01-01T00:00:00.000000Z", "renewed": "2026-01-01T00:00:00.000000Z"}
        turn = {"run": STRANGER, **times, "until": "2099-01-01T00:00:00.000000Z"}
        node.sh(f"mkdir -m 700 {Path(FILE).parent}; cat >{FILE}", json.dumps(turn))
        refused = self.play()
        text = node.read(FILE)
        return refused, self.play(gpugen_take_over=True), text


@pytest.fixture(scope="module")
def site(room: Room, checkout: Checkout, plane: Plane, kwok: Program) -> Iterator[Site]:
    assert kwok.is_running
    own = Site(room, checkout, plane)
    yield own
    own.members.leave()
    room.stop(own.hosts.values())


def test_one_run_interrupts_the_node_and_the_other_is_told_who(site: Site) -> None:
    found = site.crossed
    first, second = found["first"], found["second"]
    assert first.code == 0, first.output
    assert site.boot() != found["before"]
    assert (second.code, second[HOST].changed) == (2, ()), second.output
    (message,) = second[HOST].messages
    run = json.loads(found["held"]["metadata"]["annotations"]["gpugen/run"])
    assert f"{NODE} belongs to run {run['id']} of {run['who']} since " in message
    assert "-e gpugen_take_over=true" in message
    assert found["held"]["spec"]["holderIdentity"] == f"{run['id']} {run['who']}"


def test_the_end_of_another_run_gives_nothing_back(site: Site) -> None:
    found = site.crossed
    assert found["late"].code == 0, found["late"].output
    assert f"{NODE} stays cordoned: {NODE} belongs to run" in found["late"].output
    assert found["holder"] == "gpugen"


def test_check_mode_leaves_the_turn_alone(site: Site) -> None:
    """GEN-05."""
    assert site.crossed["checked"].code == 2
    assert site.crossed["same"]


def test_a_turn_ends_with_the_run(site: Site) -> None:
    assert site.crossed["first"].code == 0
    assert site.members.holder(NODE) == "nobody"
    refused, taken, _ = site.strange
    assert refused.code != taken.code
    assert site.lease() is None


def test_a_turn_of_another_control_host_is_taken_on_demand_or_when_it_ran_out(site: Site) -> None:
    refused, taken, late = site.strange
    assert (refused.code, refused[HOST].changed) == (2, ())
    assert f"belongs to run {STRANGER['id']} of {STRANGER['who']}" in refused[HOST].messages[0]
    for run in (taken, late):
        assert run.code == 0, run.output
        assert EVICT.partition(" : ")[0] in run.output
        assert f"was left by run {STRANGER['id']} of {STRANGER['who']}" in run.output


def test_the_run_after_a_killed_one_goes_on(site: Site) -> None:
    """GEN-10: its process has ended, which is seen on the same control host."""
    left, run = site.killed
    assert left is not None
    assert run.code == 0, run.output
    assert f"was left by run {left['spec']['holderIdentity'].split()[0]}" in run.output
    assert site.members.holder(NODE) == "nobody"
    assert site.lease() is None


def test_without_an_api_the_host_itself_says_whose_turn_it_is(site: Site) -> None:
    refused, taken, text = site.alone
    assert (refused.code, refused[HOST].changed) == (2, ()), refused.output
    assert f"the host belongs to run {STRANGER['id']}" in refused[HOST].messages[0]
    assert json.loads(text)["run"] == STRANGER
    assert taken.code == 0, taken.output
    assert site.hosts[HOST].read(FILE) == ""
