"""A part of the roles is run, by --tags, on a node of a real API server: who gives the node back.

One booted host is the node; KWOK plays its kubelet. What needs an empty node here is a word on the
kernel's command line.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest

from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import Program
from support.lab.nodes.members import AGENTS, CONTEXT, Members
from support.lab.nodes.plays import ALL_AT_ONCE, REBOOT, Checkout, Run, spec
from support.lab.nodes.room import Room
from support.lab.nodes.tuning import PRIVATE, machine

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

NODE = "part"
PATH = f"/api/v1/nodes/{NODE}"
ROLE = "gpu_tuning"
CORDON, AWAIT, UNCORDON = (
    "gpu_node : Cordon the node, with an annotation that says who did (DRV-15)",
    "gpu_node : Wait until the node advertises what the spec predicts (KUB-03)",
    "gpu_node : Uncordon the node, which the play cordoned (KUB-03)",
)
DEAF = """\
#!/bin/sh
case "$*" in
  *" wait "*) touch {mark} ;;
  *managed-fields*)
    if [ -e {mark} ]; then rm {mark}; echo 'connection refused' >&2; exit 1; fi ;;
esac
exec {kubectl} "$@"
"""


class Site:
    """The steps, each a property that is computed once."""

    def __init__(self, room: Room, checkout: Checkout, plane: Plane) -> None:
        self.room, self.checkout = room, checkout
        self.members = Members(plane, (NODE,), checkout.folder)
        self.hosts = room.boot({NODE: machine()})
        self.members.daemon("device-plugin", "train")
        self.members.advertise(NODE, gpu="4")

    def play(self, tags: str, tuning: dict[str, Any], **options: Any) -> Run:
        """Bring the host to some settings by the roles that the tags name."""
        content = spec(self.room, self.hosts.values(), access={"kubeconfigContext": CONTEXT})
        content["hostDefaults"] |= {"driver": {"method": "none"}, "tuning": tuning}
        self.checkout.render({**content, "drain": {"timeout": "6s"}})
        private = {"__gpu_node_kubectl": self.members.kubectl, "gpu_node_patience": 60}
        extra = {**ALL_AT_ONCE, **PRIVATE, **private, **REBOOT, **options.pop("extra", {})}
        return self.checkout.play("--tags", tags, extra=extra, **options)

    def agents(self) -> int:
        """Return how many agents of ours the node has."""
        return len(self.members.pods(AGENTS, "gpugen/pool=train"))

    @cached_property
    def tuned(self) -> Run:
        """A setting that needs a boot, on a node that has its agents."""
        labelled = self.play("gpu_node", {})
        assert labelled.code == 0, labelled.output
        return self.play(ROLE, {"hugepages": {"1Gi": 2}})

    @cached_property
    def removed(self) -> Run:
        """The role alone is removed."""
        assert self.tuned
        extra = {"gpugen_remove": True}
        return self.play(ROLE, {"hugepages": {"1Gi": 2}}, playbook="remove.yml", extra=extra)

    @cached_property
    def deaf(self) -> Run:
        """The API server does not answer right in front of the release."""
        assert self.removed
        mark, script = (self.checkout.folder / name for name in ("mark", "kubectl-deaf"))
        script.write_text(DEAF.format(mark=mark, kubectl=shlex.join(self.members.kubectl)))
        script.chmod(0o755)
        extra = {"__gpu_node_kubectl": [str(script)]}
        return self.play(ROLE, {"hugepages": {"1Gi": 4}}, extra=extra)

    @cached_property
    def behind_an_interrupted_run(self) -> Run:
        """A run of all roles broke off and holds the node; another setting needs a boot."""
        assert self.deaf
        notes = {"gpugen/cordoned-by": "gpugen: driver 1 -> 2"}
        body = {"metadata": {"annotations": notes}, "spec": {"unschedulable": True}}
        self.members.api.merge(PATH, body)
        return self.play(ROLE, {"hugepages": {"1Gi": 3}})


@pytest.fixture(scope="module")
def site(
    room: Room, checkout: Checkout, plane: Plane, kwok: Program, scheduler: Program
) -> Iterator[Site]:
    assert kwok.is_running
    assert scheduler.is_running
    own = Site(room, checkout, plane)
    yield own
    own.members.leave()
    room.stop(own.hosts.values())


def test_who_empties_a_node_calls_its_agents_back_and_releases_it(site: Site) -> None:
    """DRV-15, KUB-03: the role that empties nodes gives them back, whatever --tags names."""
    run = site.tuned
    assert run.code == 0, run.output
    changed = run[NODE].changed
    assert [step for step in (CORDON, "Reboot", UNCORDON) if step in changed] == [
        *(CORDON, "Reboot", UNCORDON),
    ]
    head = f"TASK [gpugen.hosts.{AWAIT}]"
    assert head in run.output
    assert not run.output.partition(head)[2].lstrip(" *\n").startswith("skipping")
    assert changed[-1] == UNCORDON
    assert (site.members.holder(NODE), site.agents()) == ("nobody", 1)


def test_a_role_that_is_removed_alone_leaves_the_node_to_the_others(site: Site) -> None:
    run = site.removed
    assert run.code == 0, run.output
    assert (site.members.holder(NODE), site.agents()) == ("nobody", 1)
    assert site.members.labels(NODE)["gpugen/pool"] == "train"


def test_a_server_that_does_not_answer_is_no_node_that_nobody_holds(site: Site) -> None:
    """KUB-03: a play that leaves its node cordoned does not end well."""
    run = site.deaf
    assert (run.code, site.members.holder(NODE)) == (2, "gpugen")
    assert "connection refused" in run.output


def test_what_an_interrupted_run_holds_is_not_released_by_a_part_of_the_roles(site: Site) -> None:
    """KUB-03: nobody verified what that run had begun."""
    run = site.behind_an_interrupted_run
    assert run.code == 0, run.output
    assert site.members.holder(NODE) == "gpugen"
    said = run.output.partition("Report that the node stays cordoned]")[2]
    assert "an earlier run was interrupted (gpugen: driver 1 -> 2)" in said, said
    assert site.agents() == 1
