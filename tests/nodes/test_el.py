"""Hosts dressed as Enterprise Linux, from the first check to the removal.

Each step is run once and keeps what it saw; a test asks for its step, which asks for those before.
Rules: PRE-04, PRE-05, PRE-06, PRE-07, DRV-05, DRV-06, DRV-09, DRV-22, DRV-23, DRV-26, CTK-01,
CTK-03, CTK-21, GEN-04, GEN-05.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from support.lab.nodes import base, el
from support.lab.nodes.el_standins import KERNEL
from support.lab.nodes.fixtures import missing
from support.lab.nodes.machine import Machine
from support.lab.nodes.plays import ALL_AT_ONCE, REBOOT, Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

OLD, NEW, OTHER = "580.105.08", "580.142", "595.58.03"  # OTHER is of another branch
OLD_TOOLKIT, NEW_TOOLKIT = "1.20.0", "1.20.1"
NINE, TEN = "nine", "ten"
ONE = ("--limit", f"{NINE}.lab.example")  # most steps need no second host
ALLOWED = {**ALL_AT_ONCE, **REBOOT}
REMOVE = {**ALLOWED, "gpugen_remove": True}
DRIVER = (
    *("nvidia-driver-cuda", "kmod-nvidia-open-dkms", "nvidia-persistenced", "libnvidia-cfg"),
    *("nvidia-driver-cuda-libs", "nvidia-kmod-common"),
)
FABRIC = ("nvidia-fabricmanager", "libnvidia-nscq")
TOOLKIT = (
    *("nvidia-container-toolkit", "nvidia-container-toolkit-base"),
    *("libnvidia-container-tools", "libnvidia-container1"),
)
LOCKS = "/etc/dnf/plugins/versionlock.list"
STREAM = "/etc/dnf/modules.d/nvidia-driver.module"
AUTOMATIC = "[commands]\nupgrade_type = default\n[base]\nexcludepkgs = own*\ndebuglevel = 1\n"
THEIRS = "# somebody's\nsomething-0:1.0-*\n"


@dataclass(frozen=True)
class Step:
    """A play and what the hosts looked like after it."""

    run: Run
    changes: Mapping[str, str]  # of the first host
    versions: Mapping[str, Mapping[str, str]]


class Life:
    """The steps, each a property that is computed once."""

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.checkout = checkout
        self.room = room
        own = {"etc/dnf/automatic.conf": AUTOMATIC, LOCKS[1:]: THEIRS}
        machines = {
            NINE: Machine(system=el.EL9, switches=1, files=own),
            TEN: Machine(system=el.EL10),
        }
        self.nodes = room.boot(machines)

    def render(self, driver: str, toolkit: str = OLD_TOOLKIT) -> None:
        """Render the spec with other versions, a pool for each system."""
        pools = []
        for name, system in ((NINE, el.EL9), (TEN, el.EL10)):
            own = spec(self.room, [self.nodes[name]], driver=driver, toolkit=toolkit)
            pools += [{**own["pools"][0], "name": name, "host": {"os": system}}]
        self.checkout.render({**own, "pools": pools})

    def step(self, *arguments: str, **options: Any) -> Step:
        """Run a playbook and look."""
        run = self.checkout.play(*arguments, **options)
        versions = {name: el.versions(node) for name, node in self.nodes.items()}
        return Step(run, self.nodes[NINE].changes(), versions)

    @cached_property
    def fresh_check(self) -> Step:
        """Check mode on a host that knows nothing yet."""
        self.before = self.nodes[NINE].changes()
        self.render(OLD)
        return self.step("--check", *ONE)

    @cached_property
    def converged(self) -> Step:
        """The first real run, on EL 9 and EL 10."""
        assert self.fresh_check
        return self.step()

    @cached_property
    def rerun(self) -> Step:
        """The same again."""
        assert self.converged
        return self.step(*ONE)

    @cached_property
    def looked_at(self) -> Mapping[str, str]:
        """What the first host says about itself."""
        assert self.rerun
        node = self.nodes[NINE]
        commands = {
            "smi": "nvidia-smi --query-gpu=driver_version,persistence_mode --format=csv,noheader",
            "kernels": "rpm -qa 'kernel*'",
            "images": "cat /boot/initramfs-*",
            "repository": "cat /etc/yum.repos.d/gpugen-nvidia.repo",
            "updates": "cat /etc/dnf/automatic.conf",
            "locks": f"cat {LOCKS}",
            "stream": f"cat {STREAM}",
        }
        return {name: node.sh(command) for name, command in commands.items()}

    @cached_property
    def updated(self) -> Mapping[str, str]:
        """Packages after an update of the whole system."""
        assert self.looked_at
        self.nodes[NINE].run("dnf", "-q", "-y", "upgrade")
        return el.versions(self.nodes[NINE])

    @cached_property
    def upgraded(self) -> Step:
        """Newer versions of driver and toolkit."""
        assert self.updated
        self.render(NEW, NEW_TOOLKIT)
        return self.step(*ONE, extra=ALLOWED)

    @cached_property
    def other_branch(self) -> Step:
        """A driver of another branch, on both systems."""
        assert self.upgraded
        self.render(OTHER, NEW_TOOLKIT)
        return self.step(extra=ALLOWED)

    @cached_property
    def downgraded(self) -> Step:
        """Back to the first versions."""
        assert self.other_branch
        self.render(OLD)
        return self.step(*ONE, extra=ALLOWED)

    @cached_property
    def not_offered(self) -> Step:
        """A version that the repository does not have."""
        assert self.downgraded
        self.render("580.95.05")
        return self.step(*ONE, extra=ALLOWED)

    @cached_property
    def rival(self) -> Step:
        """Somebody else's lock on the driver."""
        assert self.not_offered
        self.render(NEW)
        node = self.nodes[NINE]
        node.sh(f"echo 'nvidia-driver-cuda-3:{OLD}-*' >>{LOCKS}")
        step = self.step(*ONE, extra=ALLOWED)
        node.sh(f"sed -i '$d' {LOCKS}")
        return step

    @cached_property
    def no_headers(self) -> Step:
        """A kernel that runs and whose headers no repository has."""
        assert self.rival
        self.render(OLD)
        node = self.nodes[NINE]
        node.sh("sed -i s/503.14.1/503.99.1/ /usr/local/bin/uname")
        step = self.step("--tags", "preflight,gpu_prerequisites", *ONE, extra=ALLOWED)
        node.sh("sed -i s/503.99.1/503.14.1/ /usr/local/bin/uname")
        return step

    @cached_property
    def removed(self) -> Step:
        """Removal."""
        assert self.no_headers
        return self.step(*ONE, playbook="remove.yml", extra=REMOVE)


@pytest.fixture(scope="module")
def life(room: Room, checkout: Checkout) -> Iterator[Life]:
    try:
        el.tree()
    except base.UnavailableError as problem:
        missing(str(problem))
    story = Life(room, checkout)
    yield story
    room.stop(story.nodes.values())


def wanted(driver: str, toolkit: str, *, has_fabric: bool = True) -> dict[str, str]:
    """Return the packages of a host that is as the spec says, all locked."""
    return {
        **dict.fromkeys(DRIVER, f"=3:{driver}-1.el9"),
        **dict.fromkeys(FABRIC if has_fabric else (), f"={driver}-1"),
        **dict.fromkeys(TOOLKIT, f"={toolkit}-1"),
    }


def test_check_on_a_fresh_host_shows_changes_and_makes_none_gen_05(life: Life) -> None:
    step = life.fresh_check
    assert step.run.code == 0, step.run.output
    assert len(step.run[NINE].changed) >= 6
    assert step.changes == life.before
    assert step.versions[NINE] == {}


def test_the_first_run_brings_exact_versions_with_their_epoch_drv_05(life: Life) -> None:
    step = life.converged
    assert step.run.code == 0, step.run.output
    assert step.versions[NINE] == wanted(OLD, OLD_TOOLKIT)
    assert step.versions[TEN] == wanted(OLD, OLD_TOOLKIT, has_fabric=False)


def test_a_run_over_what_is_as_expected_changes_nothing_gen_04(life: Life) -> None:
    step = life.rerun
    assert step.run.code == 0, step.run.output
    assert step.run[NINE].changed == ()
    assert step.changes == life.converged.changes


def test_the_driver_works_after_headers_and_initramfs_pre_04_drv_09(life: Life) -> None:
    seen = life.looked_at
    assert seen["smi"].splitlines() == [f"{OLD}, Enabled"] * 4
    assert f"kernel-devel-{KERNEL}" in seen["kernels"].split()
    assert any(name.startswith("kernel-devel-matched-") for name in seen["kernels"].split())
    assert seen["images"].count("blacklist nouveau") == 2  # the initramfs of every kernel


def test_the_repository_is_signed_by_the_key_from_git_pre_07(life: Life) -> None:
    text = life.looked_at["repository"]
    assert "gpgcheck=1" in text
    assert "gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-gpugen-nvidia" in text


def test_automatic_updates_leave_the_driver_alone_pre_06(life: Life) -> None:
    line = next(x for x in life.looked_at["updates"].splitlines() if x.startswith("exclude"))
    assert {"own*", "nvidia*", "kmod-nvidia*", "libnvidia*"} <= set(line.split())


def test_exactly_one_stream_is_enabled_drv_05(life: Life) -> None:
    assert "stream=580-open\n" in life.looked_at["stream"]
    assert "state=enabled" in life.looked_at["stream"]
    assert life.nodes[TEN].read(STREAM) == ""


def test_the_locks_hold_the_whole_set_and_the_kernel_drv_06(life: Life) -> None:
    locks = life.looked_at["locks"]
    assert locks.startswith(THEIRS)
    release = KERNEL.rpartition(".")[0]
    for line in (
        f"nvidia-driver-cuda-3:{OLD}-1.el9.*",
        f"nvidia-fabricmanager-0:{OLD}-1.*",
        f"libnvidia-nscq-0:{OLD}-1.*",
        f"kernel-core-0:{release}.*",
        f"nvidia-container-toolkit-0:{OLD_TOOLKIT}-*",
    ):
        assert line in locks.splitlines()


def test_an_update_of_the_system_moves_nothing_that_is_locked_drv_06(life: Life) -> None:
    assert life.updated == life.converged.versions[NINE]


def test_an_upgrade_is_not_caught_by_the_former_lock_drv_06(life: Life) -> None:
    step = life.upgraded
    assert step.run.code == 0, step.run.output
    assert step.versions[NINE] == wanted(NEW, NEW_TOOLKIT)


def test_a_branch_change_switches_the_stream_drv_05_drv_22(life: Life) -> None:
    step = life.other_branch
    assert step.run.code == 0, step.run.output
    assert step.versions[NINE] == wanted(OTHER, NEW_TOOLKIT)
    assert step.versions[TEN] == wanted(OTHER, NEW_TOOLKIT, has_fabric=False)


def test_a_downgrade_is_one_run_drv_22(life: Life) -> None:
    step = life.downgraded
    assert step.run.code == 0, step.run.output
    assert step.versions[NINE] == wanted(OLD, OLD_TOOLKIT)
    assert "stream=580-open\n" in life.nodes[NINE].read(STREAM)


def test_a_version_that_no_repository_has_is_refused_before_any_change_drv_26(life: Life) -> None:
    step = life.not_offered
    assert step.run[NINE].changed == ()
    (message,) = step.run[NINE].messages
    assert "DRV-26" in message
    assert f"nvidia-driver-cuda 3:{NEW}-1.el9" in message
    assert step.changes == life.downgraded.changes


def test_a_lock_of_somebody_else_is_refused_drv_06(life: Life) -> None:
    step = life.rival
    assert step.run[NINE].changed == ()
    (message,) = step.run[NINE].messages
    assert message.startswith(f"{NINE}.lab.example: DRV-06: ")
    assert f"nvidia-driver-cuda-3:{OLD}-*" in message


def test_a_kernel_without_headers_is_refused_pre_05(life: Life) -> None:
    step = life.no_headers
    assert step.run[NINE].changed == ()
    (message,) = step.run[NINE].messages
    assert message.startswith(f"{NINE}.lab.example: PRE-05: ")
    assert f"kernel-devel-{KERNEL.rpartition('.')[0].replace('14.1', '99.1')}" in message


def test_after_the_removal_the_host_is_as_it_was_drv_23_ctk_21(life: Life) -> None:
    step = life.removed
    assert step.run.code == 0, step.run.output
    assert step.versions[NINE] == {}
    node = life.nodes[NINE]
    assert node.read(LOCKS) == THEIRS
    assert node.read("/etc/dnf/automatic.conf") == AUTOMATIC
    assert node.read("/etc/yum.repos.d/gpugen-nvidia.repo") == ""
    assert "state=enabled" not in node.read(STREAM)
