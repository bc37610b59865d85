"""DCGM on a booted host: exactly one engine, the host's service or none.

Each step is run once and keeps what it saw; a test asks for its step, which asks for those before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest

from support.lab.nodes import loaded
from support.lab.nodes.machine import Machine
from support.lab.nodes.node import Node
from support.lab.nodes.plays import ALL_AT_ONCE, REBOOT, Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

NAME = "watched"
ALLOWED = {**ALL_AT_ONCE, **REBOOT}
UNIT = "nvidia-dcgm.service"
DROP_IN = "/etc/systemd/system/nvidia-dcgm.service.d/gpugen.conf"
PACKAGES = "datacenter-gpu-manager*"


class Host:
    """One node with a loaded driver and the former DCGM, and the plays over it."""

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.room, self.checkout = room, checkout
        former = {"datacenter-gpu-manager": "1:3.3.9"}
        machine = Machine(files=loaded.files(), installed=former)
        self.node: Node = room.boot({NAME: machine})[NAME]

    def play(self, dcgm: dict[str, str], *arguments: str, **options: Any) -> Run:
        """Render what the spec says of DCGM, and run the role."""
        own = spec(self.room, [self.node], pool={"host": {"dcgm": dcgm}})
        self.checkout.render(own)
        tags = options.pop("tags", "nvidia_dcgm")
        extra = {**ALLOWED, **options.pop("extra", {})}
        return self.checkout.play(f"--tags={tags}", *arguments, extra=extra, **options)

    def packages(self) -> dict[str, str]:
        """Return the installed packages of DCGM with their versions."""
        show = "--showformat=${db:Status-Abbrev}|${Package}|${Version}\\n"
        rows = self.node.run("dpkg-query", "--show", show, PACKAGES, status=None).splitlines()
        found = (row.split("|") for row in rows)
        return {name: version for state, name, version in found if state.startswith("ii")}

    def unit(self, prop: str) -> str:
        """Return a property of the service."""
        return self.node.sh(f"systemctl show --value --property={prop} {UNIT}").strip()

    def refused(self, run: Run) -> str:
        """Return the last message of a play that failed."""
        assert run.code == 2, run.output
        return run[NAME].messages[-1]


class Story:
    """The steps in their order, each a property that is computed once."""

    def __init__(self, host: Host) -> None:
        self.host = host

    @cached_property
    def shown(self) -> Run:
        """Check mode on a host that has the former engine."""
        prepared = self.host.play({"version": "4.5.2"}, tags="gpu_prerequisites")
        assert prepared.code == 0, prepared.output
        return self.host.play({"version": "4.5.2"}, "--check")

    @cached_property
    def first(self) -> Run:
        """Installed and running."""
        assert self.shown.code == 0, self.shown.output
        return self.host.play({"version": "4.5.2"})

    @cached_property
    def again(self) -> Run:
        """The same once more."""
        assert self.first.code == 0, self.first.output
        return self.host.play({"version": "4.5.2"})

    @cached_property
    def upgraded(self) -> tuple[Run, str]:
        """Another version; the process that ran before."""
        assert self.again.code == 0, self.again.output
        former = self.host.unit("MainPID")
        return self.host.play({"version": "4.5.3"}), former


@pytest.fixture(scope="module")
def host(room: Room, checkout: Checkout) -> Iterator[Host]:
    own = Host(room, checkout)
    yield own
    room.stop([own.node])


@pytest.fixture(scope="module")
def story(host: Host) -> Story:
    return Story(host)


def test_check_mode_shows_the_exchange_and_makes_none(story: Story, host: Host) -> None:
    """GEN-05, DCG-01."""
    assert story.shown.code == 0, story.shown.output
    assert "would install datacenter-gpu-manager-4-cuda13, datacenter-gpu-manager-4-core 4.5.2" in (
        story.shown.output
    )
    assert "and remove DCGM 3" in story.shown.output
    assert host.packages() == {"datacenter-gpu-manager": "1:3.3.9"}


def test_the_engine_of_the_drivers_cuda_replaces_the_former(story: Story, host: Host) -> None:
    """DCG-01, DCG-02, DCG-03, DCG-04: exact, on localhost only, after what prepares the GPUs."""
    assert story.first.code == 0, story.first.output
    assert host.packages() == {
        "datacenter-gpu-manager-4-core": "1:4.5.2-1",
        "datacenter-gpu-manager-4-cuda13": "1:4.5.2-1",
    }
    assert (host.unit("ActiveState"), host.unit("UnitFileState")) == ("active", "enabled")
    after = host.unit("After").split()
    assert {"nvidia-fabricmanager.service", "nvidia-mig-manager.service"} <= set(after)
    assert host.node.sh("dcgmi discovery --list").startswith("4 GPUs found")


def test_a_second_run_changes_nothing(story: Story) -> None:
    """GEN-04."""
    run = story.again
    assert run.code == 0, run.output
    assert run[NAME].changed == ()
    runs = sum(count for task, count in run[NAME].modules.items() if "Gathering" not in task)
    assert runs <= 4, run[NAME].modules


def test_a_new_version_is_installed_and_started(story: Story, host: Host) -> None:
    """DCG-01."""
    run, former = story.upgraded
    assert run.code == 0, run.output
    assert set(host.packages().values()) == {"1:4.5.3-1"}
    assert host.unit("MainPID") not in {former, "0"}
    assert "4.5.3" in host.node.read(DROP_IN)


def test_an_engine_that_runs_older_settings_is_started_again(story: Story, host: Host) -> None:
    """GEN-10: state decides, not what this run wrote."""
    assert story.upgraded
    former = host.unit("MainPID")
    host.node.sh(f"touch -d '+2 seconds' {DROP_IN}; sleep 3")
    run = host.play({"version": "4.5.3"})
    assert run.code == 0, run.output
    assert host.unit("MainPID") != former
    assert host.play({"version": "4.5.3"})[NAME].changed == ()


def test_missing_gpus_fail_the_verification(story: Story, host: Host) -> None:
    """DCG-04."""
    assert story.upgraded
    host.node.sh("touch /run/fake-nvidia/lost")
    message = host.refused(host.play({"version": "4.5.3"}, playbook="verify.yml"))
    host.node.sh("rm /run/fake-nvidia/lost")
    assert "DCG-04: dcgmi finds 3 GPUs, expected 4 (nvidia_dcgm_expected_gpus)" in message
    run = host.play({"version": "4.5.3"}, playbook="verify.yml")
    assert run.code == 0, run.output


def test_an_engine_that_listens_to_the_network_fails_the_verification(
    story: Story, host: Host
) -> None:
    """DCG-02."""
    assert story.upgraded
    folder = "/run/systemd/system/nvidia-dcgm.service.d"
    host.node.sh(
        f"mkdir -p {folder}; printf '[Service]\\nExecStart=\\nExecStart=/usr/bin/nv-hostengine "
        f"--bind-interface ALL\\n' >{folder}/all.conf; systemctl daemon-reload; "
        f"systemctl restart {UNIT}; sleep 1"
    )
    message = host.refused(host.play({"version": "4.5.3"}, playbook="verify.yml"))
    host.node.sh(f"rm -r {folder}; systemctl daemon-reload; systemctl restart {UNIT}")
    assert "DCG-02: the host engine listens on more than localhost (00000000" in message


def test_a_version_that_nobody_offers_is_refused_while_the_old_one_runs(
    story: Story, host: Host
) -> None:
    """DCG-01."""
    assert story.upgraded
    message = host.refused(host.play({"version": "4.9.9"}))
    assert "DCG-01: the configured repositories do not offer 1:4.9.9 of" in message
    assert "datacenter-gpu-manager-4-core 1:4.5.3-1" in message
    assert host.unit("ActiveState") == "active"


def test_a_second_engine_is_refused(story: Story, host: Host) -> None:
    """DCG-02: somebody else on the port, and our service is down."""
    assert story.upgraded
    host.node.sh(f"systemctl stop {UNIT}; systemd-run --quiet --unit=other nv-hostengine; sleep 1")
    message = host.refused(host.play({"version": "4.5.3"}))
    host.node.sh(f"systemctl stop other; systemctl start {UNIT}")
    assert "DCG-02: somebody else listens on port 5555" in message


def test_a_masked_service_stays_off_and_comes_back(story: Story, host: Host) -> None:
    """DCG-02: then the exporter's own engine is the only one."""
    assert story.upgraded
    run = host.play({"mode": "masked"})
    assert run.code == 0, run.output
    assert (host.unit("ActiveState"), host.unit("LoadState")) == ("inactive", "masked")
    assert host.play({"mode": "masked"})[NAME].changed == ()
    verified = host.play({"mode": "masked"}, playbook="verify.yml")
    assert verified.code == 0, verified.output
    run = host.play({"version": "4.5.3"})
    assert run.code == 0, run.output
    assert host.unit("ActiveState") == "active"


def test_removal_leaves_no_engine_and_the_settings_of_others(story: Story, host: Host) -> None:
    """GEN-12."""
    assert story.upgraded
    foreign = DROP_IN.replace("gpugen.conf", "site.conf")
    host.node.sh(f"cat >{foreign}", "[Service]\nNice=5\n")
    run = host.play({"version": "4.5.3"}, playbook="remove.yml", extra={"gpugen_remove": True})
    assert run.code == 0, run.output
    assert host.packages() == {}
    left = [
        path
        for path in host.node.changes()
        if "dcgm.service" in path or "gpugen-nvidia-dcgm" in path
    ]
    assert {path for path in left if path.endswith((".conf", ".json"))} == {foreign.lstrip("/")}
