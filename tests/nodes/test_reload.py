"""Another driver without a reboot, on a booted host; and the reboot where modules cannot go.

Each step is run once and keeps what it saw; a test asks for its step, which asks for those before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pytest

from support.lab.nodes.machine import TREE, Machine
from support.lab.nodes.plays import ALL_AT_ONCE, REBOOT, Checkout, Run, spec
from support.lab.nodes.room import Room
from support.lab.nodes.standins import text

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

OLD, NEW, LAST = "580.105.08", "580.142", "580.178.04"
NAME = "watched"
DRIVER = ("preflight", "nvidia_driver")  # alone, so that no other role starts what it stopped
SERVICES = (  # that hold the GPUs; nothing starts the last one at boot
    *("nvidia-persistenced", "nvidia-fabricmanager", "nvidia-dcgm", "nvidia-cdi-refresh.path"),
    "nvidia-imex",
)
IMEX = "[Service]\nExecStart=/bin/sleep infinity\n"
MODULES = f"d /run/fake-nvidia/module\nL /{TREE}/sys/module - - - - /run/fake-nvidia/module\n"
MACHINE = Machine(
    switches=2,
    files={
        "usr/local/sbin/modprobe": text("reload/modprobe"),
        "etc/tmpfiles.d/modules.conf": MODULES,
        "etc/systemd/system/nvidia-imex.service": IMEX,
    },
)
PREPARE = """
systemctl start nvidia-imex
mkdir -p /run/fake-nvidia/module/nvidia_uvm
echo stale >>/run/cdi/nvidia.yaml
"""
# An agent of somebody else's cluster half: nobody's work, so it is no reason to refuse.
HOLD = """
cp /bin/sleep /run/nvidia-device-plugin
touch /dev/nvidia0
/run/nvidia-device-plugin 1000 </dev/nvidia0 >/dev/null 2>&1 &
"""


@dataclass(frozen=True)
class Step:
    """A play, and what the host shows after it.

    running: of SERVICES. modules: loaded beside the main one. notes: of what is yet to be started.
    """

    run: Run
    boot: str
    version: str
    running: tuple[str, ...]
    modules: tuple[str, ...]
    cdi: str
    notes: str


class Story:
    """The steps in their order, each a property that is computed once."""

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.room, self.checkout = room, checkout
        self.node = room.boot({NAME: MACHINE})[NAME]

    def step(self, version: str, *roles: str) -> Step:
        """Bring the host to a version by a reload, and look. roles: none for all."""
        own = {
            "driver": {"version": version, "activation": "reload"},
            "dcgm": {"version": "4.5.2"},
        }
        self.checkout.render(spec(self.room, [self.node], pool={"host": own}))
        tags = ["--tags", ",".join(roles)] if roles else []
        run = self.checkout.play(*tags, extra={**ALL_AT_ONCE, **REBOOT})
        states = (self.node.run("systemctl", "is-active", name, status=None) for name in SERVICES)
        return Step(
            run,
            self.node.run("cat", "/proc/sys/kernel/random/boot_id"),
            self.node.run("nvidia-smi", "--query-gpu=driver_version", "--format=csv").split()[0],
            tuple(n for n, state in zip(SERVICES, states, strict=True) if state == "active\n"),
            tuple(self.node.sh("ls /run/fake-nvidia/module").split()),
            self.node.sh("cat /run/cdi/nvidia.yaml"),
            self.node.sh("ls /var/lib/misc/*stopped* 2>/dev/null || true"),
        )

    @cached_property
    def converged(self) -> Step:
        """The first run; nothing is loaded that could be exchanged."""
        return self.step(OLD)

    @cached_property
    def reloaded(self) -> Step:
        """Another version, while services hold the GPUs."""
        assert self.converged.run.code == 0, self.converged.run.output
        self.node.sh(PREPARE)
        return self.step(NEW, *DRIVER)

    @cached_property
    def rerun(self) -> Step:
        """The same again."""
        assert self.reloaded
        return self.step(NEW, *DRIVER)

    @cached_property
    def rebooted(self) -> Step:
        """Another version, while somebody keeps the module loaded."""
        assert self.rerun
        self.node.sh(HOLD)
        return self.step(LAST, *DRIVER)

    @cached_property
    def rejected(self) -> Step:
        """Another version, whose module does not load before the next boot."""
        assert self.rebooted
        self.node.sh("touch /run/fake-nvidia/rejected")
        return self.step(NEW, *DRIVER)


@pytest.fixture(scope="module")
def story(room: Room, checkout: Checkout) -> Iterator[Story]:
    own = Story(room, checkout)
    yield own
    room.stop([own.node])


def test_a_reload_takes_the_place_of_the_reboot(story: Story) -> None:
    """DRV-17, DRV-21: the loaded module is the new one, and the machine has not booted."""
    step = story.reloaded
    assert step.run.code == 0, step.run.output
    assert step.run[NAME].messages == ()
    assert (step.version, step.boot) == (NEW, story.converged.boot)
    assert step.modules == ("nvidia_uvm",)


def test_what_held_the_gpus_runs_again_after_a_reload(story: Story) -> None:
    """DRV-17: also what no boot would start. CTK-17: CDI names the new libraries."""
    assert story.reloaded.running == SERVICES
    assert "stale" not in story.reloaded.cdi
    assert story.reloaded.notes == ""


def test_a_second_run_changes_nothing(story: Story) -> None:
    """GEN-04."""
    assert story.rerun.run.code == 0, story.rerun.run.output
    assert story.rerun.run[NAME].changed == ()


def test_a_module_in_use_is_left_to_a_reboot(story: Story) -> None:
    """DRV-17: and nobody is killed for it."""
    step = story.rebooted
    assert step.run.code == 0, step.run.output
    assert step.run[NAME].messages[0].endswith("DRV-17: modprobe: FATAL: Module nvidia is in use.")
    assert "the driver could not be reloaded, a reboot is due" in step.run.output
    assert step.version == LAST
    assert step.boot != story.rerun.boot


def test_a_module_that_does_not_load_is_left_to_a_reboot(story: Story) -> None:
    """DRV-17."""
    step = story.rejected
    assert step.run.code == 0, step.run.output
    assert "Key was rejected by service" in step.run.output
    assert step.version == NEW
    assert step.boot != story.rebooted.boot


@pytest.mark.parametrize("name", ["rebooted", "rejected"])
def test_what_held_the_gpus_runs_again_after_the_reboot(story: Story, name: str) -> None:
    """DRV-17: by the note that outlives the boot."""
    step: Step = getattr(story, name)
    assert step.running == SERVICES
    assert step.notes == ""
