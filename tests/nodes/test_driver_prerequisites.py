"""What a host needs before the driver, on a booted host: brought, kept, verified, taken away."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from functools import cached_property

import pytest

from support.lab.nodes import deb
from support.lab.nodes.machine import Machine
from support.lab.nodes.plays import Checkout, Run, spec
from support.lab.nodes.room import HERE, PORT, Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

HOST = "needs"
ROLE = ("--tags", "gpu_prerequisites")
REMOVE = "remove-prerequisites.yml"
REMOVAL = """\
- name: Remove what the role brought
  hosts: gpu
  become: true
  gather_facts: false
  tasks:
    - name: Remove
      ansible.builtin.import_role: {name: gpugen.hosts.gpu_prerequisites, tasks_from: absent}
"""


KERNEL = platform.release()
FOLLOWER = "9.9.9-lab"  # a kernel that no machine runs
KERNELS = (  # what a repository has where the running kernel is gone from it
    deb.Package("linux-image-lab", "2", f"linux-image-{FOLLOWER}"),
    deb.Package("linux-headers-lab", "2", f"linux-headers-{FOLLOWER}"),
    deb.Package(f"linux-image-{FOLLOWER}", "2"),
    deb.Package(f"linux-headers-{FOLLOWER}", "2"),
)
MOVED = "moved"
SOURCE = f"Types: deb\nURIs: http://{HERE}:{PORT}/kernels/\nSuites: /\nTrusted: yes\n"
GONE = f"Package: linux-headers-{KERNEL}\nPin: release *\nPin-Priority: -1\n"
OLD_KERNEL = Machine(
    installed={"linux-image-lab": "1", f"linux-image-{KERNEL}": "1"},
    files={
        "etc/apt/sources.list.d/kernels.sources": SOURCE,
        "etc/apt/preferences.d/no-headers": GONE,
    },
)
CHANGE = "change-kernel.yml"
CHANGING = """\
- name: Bring what the driver needs, whatever the kernel
  hosts: gpu
  become: true
  gather_facts: false
  tasks:
    - name: Run the role
      ansible.builtin.import_role: {name: gpugen.hosts.gpu_prerequisites}
    - name: Say what is due
      ansible.builtin.debug:
        msg: "{{ decision.reboot_due }}: {{ decision.interrupts | join }}"
      vars:
        decision: "{{ gpu_prerequisites_decision }}"
"""


class Story:
    """One host, from nothing and back to it."""

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.room, self.checkout = room, checkout
        self.nodes = room.boot({HOST: Machine()})
        self.node = self.nodes[HOST]
        self.fresh = self.node.changes()
        checkout.render(spec(room, self.nodes.values()))

    @cached_property
    def checked(self) -> Run:
        """Check mode on the fresh host."""
        return self.checkout.play("--check", *ROLE)

    @cached_property
    def converged(self) -> Run:
        """The first run."""
        assert self.checked
        return self.checkout.play(*ROLE)

    @cached_property
    def rerun(self) -> Run:
        """The second run."""
        assert self.converged
        return self.checkout.play(*ROLE)

    @cached_property
    def verified(self) -> tuple[Run, Run]:
        """Verification of the host, and again after somebody edited our file."""
        assert self.rerun
        good = self.checkout.play(*ROLE, playbook="verify.yml")
        self.node.sh("echo >/etc/apt/apt.conf.d/52gpugen-unattended-upgrades")
        bad = self.checkout.play(*ROLE, playbook="verify.yml")
        assert self.checkout.play(*ROLE).code == 0
        return good, bad

    @cached_property
    def removed(self) -> Run:
        """Everything taken away again."""
        assert self.verified
        (self.checkout.plays / REMOVE).write_text(REMOVAL, encoding="utf-8")
        return self.checkout.play(playbook=REMOVE)


@pytest.fixture(scope="module")
def story(room: Room, checkout: Checkout) -> Iterator[Story]:
    own = Story(room, checkout)
    yield own
    room.stop(own.nodes.values())


def test_check_mode_shows_all_and_does_nothing(story: Story) -> None:
    """GEN-05."""
    assert story.checked.code == 0, story.checked.output
    assert len(story.checked[HOST].changed) >= 3
    assert story.node.changes() == story.fresh


def test_headers_and_repositories_come(story: Story) -> None:
    """PRE-04, PRE-06 and PRE-07."""
    assert story.converged.code == 0, story.converged.output
    assert "linux-headers-" in story.node.run("dpkg-query", "--show", "linux-headers-*")
    assert "Signed-By" in story.node.read("/etc/apt/sources.list.d/gpugen-nvidia.sources")
    assert '"nvidia-";' in story.node.read("/etc/apt/apt.conf.d/52gpugen-unattended-upgrades")


def test_a_second_run_reads_and_changes_nothing(story: Story) -> None:
    """GEN-04; one start to check, one for the key, one before the work."""
    run = story.rerun[HOST]
    assert story.rerun.code == 0, story.rerun.output
    assert run.changed == ()
    own = {task: n for task, n in run.modules.items() if task.startswith("gpu_prerequisites")}
    assert sum(own.values()) <= 4, own


def test_verification_tells_what_was_edited(story: Story) -> None:
    good, bad = story.verified
    assert good.code == 0, good.output
    (message,) = bad[HOST].messages
    assert message.startswith(f"{HOST}.lab.example: PRE-06: "), message


def test_what_was_brought_is_taken_away_and_nothing_else(story: Story) -> None:
    """DRV-23 for headers: only what this role had installed."""
    assert story.removed.code == 0, story.removed.output
    after, before = story.node.changes(), story.fresh
    left = {
        path
        for path in after | before
        if after.get(path) != before.get(path) and not after.get(path, "").startswith("folder")
    }
    assert {path for path in left if not path.startswith("var/lib/dpkg/")} == set()


@pytest.fixture(scope="module")
def moved(room: Room, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Run, Run, str]]:
    """Runs over a host whose kernel has left the repositories: without and with the word for it."""
    folder = room.folder / "www" / "kernels"
    deb.write_repository(folder, KERNELS, "amd64")
    deb.sign(folder, room.key)
    nodes = room.boot({MOVED: OLD_KERNEL})
    runs = []
    for is_allowed in (False, True):
        checkout = Checkout(room, tmp_path_factory.mktemp("kernel"))
        own = spec(room, nodes.values())
        own["hostDefaults"]["allowKernelChange"] = is_allowed
        checkout.render(own)
        (checkout.plays / CHANGE).write_text(CHANGING, encoding="utf-8")
        runs.append(checkout.play(playbook=CHANGE))
    installed = nodes[MOVED].sh("dpkg-query --show 'linux-*'")
    yield runs[0], runs[1], installed
    room.stop(nodes.values())


def test_a_kernel_changes_only_where_the_spec_allows_it(moved: tuple[Run, Run, str]) -> None:
    """PRE-05."""
    refused, allowed, installed = moved
    (message,) = refused[MOVED].messages
    assert f"PRE-05: kernel {KERNEL} has no headers in the configured repositories" in message
    assert allowed.code == 0, allowed.output
    assert f"linux-headers-{FOLLOWER}" in installed
    assert f"True: kernel {KERNEL} has no headers and makes way" in allowed.output
