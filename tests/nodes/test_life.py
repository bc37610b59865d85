"""A host from its first check to its removal, in the order in which a user gets there.

Each step is run once and keeps what it saw; a test asks for its step, which asks for those before.
Rules: GEN-04, GEN-05, GEN-10, DRV-02, DRV-04, DRV-13 to DRV-16, DRV-22, DRV-23, CTK-01, CTK-21.
GPUGEN_LAB_SEED sets the moment at which a play is killed; a failure names it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from support.lab.nodes.machine import Machine
from support.lab.nodes.node import Node
from support.lab.nodes.plays import ALL_AT_ONCE, REBOOT, SEED, Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

OLD, NEW = "580.105.08", "580.142"
OLD_TOOLKIT, NEW_TOOLKIT = "1.20.0", "1.20.1"
TOOLKIT = (
    *("nvidia-container-toolkit", "nvidia-container-toolkit-base"),
    *("libnvidia-container-tools", "libnvidia-container1"),
)
DRIVER = (
    *("nvidia-open", "nvidia-driver-cuda", "nvidia-kernel-open-dkms", "nvidia-persistenced"),
    *("libcuda1", "libnvidia-ptxjitcompiler1", "firmware-nvidia-gsp", "libnvidia-cfg1"),
    *("libnvidia-ml1", "libnvidia-nvvm4", "libnvidia-encode1", "libcudadebugger1"),
    *("nvidia-opencl-icd", "nvidia-driver", "nvidia-driver-libs", "xserver-xorg-video-nvidia"),
    *("nvidia-settings", "nvidia-xconfig"),  # recommended
)
FABRIC = ("nvidia-fabricmanager", "libnvidia-nscq")  # where there are switches
ALLOWED = {**ALL_AT_ONCE, **REBOOT}
REMOVE = {**ALLOWED, "gpugen_remove": True}
PLAIN, KUBE = "plain", "kube"  # a host with switches, and one whose kubelet runs
# What Debian's installer writes where somebody chose German; sshd hands it on, and apt follows.
GERMAN = {"etc/default/locale": 'LANG=de_DE.UTF-8\nLANGUAGE="de_DE:de"\n'}
UNITS = ("nvidia-persistenced", "nvidia-cdi-refresh.path", "nvidia-fabricmanager")
MODULE_RUNS = 25  # that a host pays for, at most, where nothing changes
BUSY, IDLE = "echo 4711 >/run/fake-nvidia/apps", "rm /run/fake-nvidia/apps"
ONE = ("--limit", f"{PLAIN}.lab.example")  # most steps need no second host


@dataclass(frozen=True)
class Step:
    """A play and what the hosts looked like after it."""

    run: Run
    before: Mapping[str, Mapping[str, str]]
    after: Mapping[str, Mapping[str, str]]
    versions: Mapping[str, Mapping[str, str]]
    loaded: Mapping[str, str]
    boots: Mapping[str, str]
    packages: Mapping[str, str]  # of the first host

    def difference(self, node: str) -> set[str]:
        """Return the paths that the play changed on a host."""
        return unlike(self.before[node], self.after[node])


class Life:
    """The steps, each a property that is computed once."""

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.room = room
        self.checkout = checkout
        machines = {
            PLAIN: Machine(switches=2, files=GERMAN),
            KUBE: Machine(has_kubelet=True, files=GERMAN),
        }
        self.nodes = room.boot(machines)

    def render(self, driver: str, toolkit: str) -> None:
        """Render the spec with other versions."""
        own = spec(self.room, self.nodes.values(), driver=driver, toolkit=toolkit)
        self.checkout.render(own)

    def step(self, *arguments: str, **options: Any) -> Step:
        """Run a playbook and look."""
        before = {name: node.changes() for name, node in self.nodes.items()}
        run = self.checkout.play(*arguments, **options)
        nodes = self.nodes.items()
        return Step(
            run,
            before,
            {name: node.changes() for name, node in nodes},
            {name: node.versions() for name, node in nodes},
            {name: _loaded(node) for name, node in nodes},
            {name: node.run("cat", "/proc/sys/kernel/random/boot_id") for name, node in nodes},
            self.nodes[PLAIN].packages(),
        )

    @cached_property
    def fresh_check(self) -> Step:
        """Check mode on a host that knows nothing yet."""
        self.render(OLD, OLD_TOOLKIT)
        return self.step("--check", "--diff", *ONE)

    @cached_property
    def converged(self) -> Step:
        """The first real run."""
        assert self.fresh_check
        return self.step()

    @cached_property
    def rerun(self) -> Step:
        """The same again, while somebody computes: what changes nothing asks nobody (DRV-14)."""
        assert self.converged
        self.nodes[PLAIN].sh(BUSY)
        step = self.step(*ONE)
        self.nodes[PLAIN].sh(IDLE)
        return step

    @cached_property
    def check(self) -> Step:
        """Check mode on a host that is as wanted."""
        assert self.rerun
        return self.step("--check", "--diff", *ONE)

    @cached_property
    def looked_at(self) -> Mapping[str, str]:
        """What the first host says about itself between the steps."""
        assert self.check
        node = self.nodes[PLAIN]
        commands = {
            "smi": "nvidia-smi --query-gpu=driver_version,persistence_mode --format=csv,noheader",
            "enabled": f"systemctl is-enabled {' '.join(UNITS)}",
            "active": f"systemctl is-active {' '.join(UNITS)}",
            "dump": "containerd config dump",
            "plugins": "ctr plugins ls",
            "links": "readlink /dev/char/195:255",
            "cdi": "cat /var/run/cdi/nvidia.yaml",
            "images": "cat /boot/initrd.img-*",
            "policy": "apt-cache policy nvidia-open nvidia-container-toolkit",
            "record": "cat /var/lib/misc/gpugen-nvidia-driver.json",
            "updates": "apt-config dump Unattended-Upgrade",
        }
        return {name: node.sh(command) for name, command in commands.items()}

    @cached_property
    def new_check(self) -> Step:
        """Check mode in front of other versions."""
        assert self.looked_at
        self.render(NEW, NEW_TOOLKIT)
        return self.step("--check", "--diff", *ONE)

    @cached_property
    def busy(self) -> Step:
        """Other versions, while somebody computes on the GPUs."""
        assert self.new_check
        self.nodes[PLAIN].sh(BUSY)
        step = self.step("--tags", "preflight,nvidia_driver", *ONE, extra=ALLOWED)
        self.nodes[PLAIN].sh(IDLE)
        return step

    @cached_property
    def held_back(self) -> Step:
        """Other versions without the word that lets the play interrupt hosts."""
        assert self.busy
        return self.step()

    @cached_property
    def upgraded(self) -> Step:
        """The run that may interrupt the host."""
        assert self.held_back
        return self.step(*ONE, extra=ALLOWED)

    @cached_property
    def downgraded(self) -> Step:
        """Back to the former versions in one run."""
        assert self.upgraded
        self.render(OLD, OLD_TOOLKIT)
        return self.step(*ONE, extra=ALLOWED)

    @cached_property
    def killed(self) -> Step:
        """Another upgrade, killed while it changes the host."""
        assert self.downgraded
        self.render(NEW, NEW_TOOLKIT)
        return self.step(*ONE, extra=ALLOWED, kill_at=self.upgraded.run[PLAIN].moment)

    @cached_property
    def healed(self) -> Step:
        """The run after it."""
        assert self.killed
        return self.step(*ONE, extra=ALLOWED)

    @cached_property
    def last_rerun(self) -> Step:
        """A run after all that."""
        assert self.healed
        return self.step(*ONE, extra=ALLOWED)

    @cached_property
    def kept(self) -> Step:
        """Removal without the word for it."""
        assert self.last_rerun
        return self.step(*ONE, playbook="remove.yml")

    @cached_property
    def removed(self) -> Step:
        """Removal."""
        assert self.kept
        return self.step(*ONE, playbook="remove.yml", extra=REMOVE)


def _loaded(node: Node) -> str:
    text = node.sh("cat /run/fake-nvidia/proc/driver/nvidia/version 2>/dev/null || true")
    words = [word for word in text.split() if word.startswith("580.")]
    return words[0] if words else ""


@pytest.fixture(scope="module")
def life(room: Room, checkout: Checkout) -> Iterator[Life]:
    story = Life(room, checkout)
    yield story
    room.stop(story.nodes.values())


def wanted(driver: str, toolkit: str, *, fabric: bool = True) -> dict[str, str]:
    """Return the packages of a host that is as the spec says, all held."""
    return {
        **dict.fromkeys((*DRIVER, *(FABRIC if fabric else ())), f"={driver}-1"),
        **dict.fromkeys(TOOLKIT, f"={toolkit}-1"),
    }


def test_check_on_a_fresh_host_shows_changes_and_makes_none(life: Life) -> None:
    step = life.fresh_check
    assert step.run.code == 0, step.run.output
    assert len(step.run[PLAIN].changed) >= 8
    assert step.difference(PLAIN) == set()
    assert step.versions[PLAIN] == {}


def test_the_first_run_brings_the_spec(life: Life) -> None:
    step = life.converged
    assert step.run.code == 0, step.run.output
    assert step.versions[PLAIN] == wanted(OLD, OLD_TOOLKIT)
    assert step.versions[KUBE] == wanted(OLD, OLD_TOOLKIT, fabric=False)
    assert step.loaded == {PLAIN: OLD, KUBE: OLD}


@pytest.mark.parametrize("step", ["rerun", "check", "last_rerun"])
def test_a_run_over_what_is_as_expected_changes_nothing(life: Life, step: str) -> None:
    found: Step = getattr(life, step)
    assert found.run.code == 0, found.run.output
    assert found.run[PLAIN].changed == ()
    assert found.difference(PLAIN) == set()
    assert found.run[PLAIN].module_runs <= MODULE_RUNS, found.run[PLAIN].modules


def test_the_driver_works_and_survives_updates(life: Life) -> None:
    """DRV-07 to DRV-09, DRV-19, DRV-24, PRE-06: fabric, nouveau, persistence, record, upgrades."""
    seen = life.looked_at
    assert seen["smi"].splitlines() == [f"{OLD}, Enabled"] * 4
    assert set(seen["enabled"].split()) == {"enabled"}
    assert set(seen["active"].split()) == {"active"}  # of the fabric manager: DRV-08
    assert seen["images"].count("blacklist nouveau") == 2  # the initramfs of every kernel
    assert json.loads(seen["record"])["packages"] == sorted((*DRIVER, "libnvcuvid1", *FABRIC))
    assert '"nvidia-"' in seen["updates"]
    for name, version in (("nvidia-open", OLD), ("nvidia-container-toolkit", OLD_TOOLKIT)):
        policy = seen["policy"].partition(f"{name}:")[2]
        assert policy.partition("Candidate: ")[2].startswith(version), policy  # not the newest


def test_containerd_knows_the_runtime(life: Life) -> None:
    """CTK-11, CTK-12: ours beside the former ones, and not the default."""
    runtimes = tomllib.loads(life.looked_at["dump"])["plugins"]["io.containerd.grpc.v1.cri"][
        "containerd"
    ]
    assert set(runtimes["runtimes"]) == {"runc", "nvidia"}
    assert runtimes["default_runtime_name"] == "runc"
    assert (
        runtimes["runtimes"]["nvidia"]["options"]["BinaryName"]
        == "/usr/bin/nvidia-container-runtime"
    )
    (state,) = [x.split()[-1] for x in life.looked_at["plugins"].splitlines() if " cri " in x]
    assert state == "ok"


def test_containers_find_the_gpus(life: Life) -> None:
    """CTK-17, DRV-20: a CDI description, and links that survive a daemon-reload."""
    assert life.looked_at["links"].strip() == "../nvidiactl"
    assert "nvidia.com/gpu" in life.looked_at["cdi"]


def test_check_shows_an_upgrade(life: Life) -> None:
    step = life.new_check
    assert step.run.code == 0, step.run.output
    assert step.run[PLAIN].changed
    assert step.difference(PLAIN) == set()


def test_no_driver_is_changed_under_a_kubelet(life: Life) -> None:
    step = life.held_back
    run = step.run[KUBE]
    assert run.changed == ()
    assert step.difference(KUBE) == set()
    (message,) = run.messages
    assert message.startswith("kube.lab.example: DRV-15: ")
    assert step.run.code == 2


def test_busy_gpus_are_refused_before_any_change(life: Life) -> None:
    step = life.busy
    assert step.run[PLAIN].changed == ()
    assert step.difference(PLAIN) == set()
    assert step.run[PLAIN].messages == (
        "plain.lab.example: DRV-13: processes 4711 compute on the GPUs; end them before the driver "
        "changes",
    )


def test_without_the_word_no_host_is_interrupted(life: Life) -> None:
    step = life.held_back
    assert step.run[PLAIN].changed == ()
    assert step.difference(PLAIN) == set()
    (message,) = step.run[PLAIN].messages
    assert message.startswith(f"plain.lab.example: DRV-15: driver {OLD} -> {NEW}")
    assert "gpugen_allow_disruption=true" in message


def test_an_upgrade_reboots_and_goes_on(life: Life) -> None:
    step = life.upgraded
    assert step.run.code == 0, step.run.output
    assert step.boots[PLAIN] != life.held_back.boots[PLAIN]
    assert step.loaded[PLAIN] == NEW
    assert step.versions[PLAIN] == wanted(NEW, NEW_TOOLKIT)


def test_a_downgrade_is_one_run(life: Life) -> None:
    step = life.downgraded
    assert step.run.code == 0, step.run.output
    assert step.versions[PLAIN] == wanted(OLD, OLD_TOOLKIT)
    assert step.loaded[PLAIN] == OLD


def test_after_up_and_down_the_host_is_as_it_was(life: Life) -> None:
    assert unlike(life.converged.after[PLAIN], life.downgraded.after[PLAIN]) == set()


def test_the_run_after_a_killed_one_finishes_its_work(life: Life) -> None:
    assert life.killed.run.code in {-9, 0}, (SEED, life.killed.run.output)
    assert life.healed.run.code == 0, (SEED, life.healed.run.output)
    assert life.healed.versions[PLAIN] == wanted(NEW, NEW_TOOLKIT), SEED
    assert life.healed.loaded[PLAIN] == NEW, SEED
    assert unlike(life.upgraded.after[PLAIN], life.healed.after[PLAIN]) == set(), SEED


def test_nothing_is_removed_without_the_word_for_it(life: Life) -> None:
    step = life.kept
    assert step.run.code == 2
    assert step.difference(PLAIN) == set()
    assert "gpugen_remove=true" in step.run[PLAIN].messages[0]


def test_after_removal_the_host_equals_its_snapshot(life: Life) -> None:
    step = life.removed
    assert step.run.code == 0, step.run.output
    assert step.packages == life.fresh_check.packages
    assert unlike(life.fresh_check.before[PLAIN], step.after[PLAIN]) - PACKAGING == set()
    assert step.loaded[PLAIN] == ""


PACKAGING = {  # of dpkg and apt: the same packages in another order, and marks of those gone
    *("var/lib/dpkg/status", "var/lib/dpkg/status-old", "var/lib/apt/extended_states"),
    "var/lib/dpkg/available",
}


def unlike(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """Return the paths that differ."""
    return {path for path in before | after if before.get(path) != after.get(path)}
