"""The link to a host breaks in the middle of its transaction, which goes on by itself (DRV-22).

And the program that runs it, asked alone: what another begins, what is left, a full disk.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from configparser import ConfigParser
from functools import cached_property

import pytest

from support import ROOT
from support.lab.cluster.programs import wait_until
from support.lab.nodes.machine import Machine
from support.lab.nodes.node import Node
from support.lab.nodes.plays import DOMAIN, REBOOT, Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

PROGRAMS = ROOT / "plugins" / "module_utils"
# As gpugen.hosts.job asks it in one step.
STEP = """
ask = json.loads(sys.argv[1])
try:
    found = start(ask["argv"], ask["unit"]) if ask["do"] == "start" else finish(ask["argv"])
except Refused as refused:
    sys.exit(str(refused))
sys.stdout.write(found.get("out", ""))
sys.stderr.write(found.get("err", ""))
sys.exit(found["rc"] if found["state"] == "ended" else found["state"])
"""
TORN, BEHIND, BARE = "torn", "behind", "bare"
OLD, NEW = "580.105.08", "580.142"
INSTALL = "nvidia_driver : Install the whole set in one transaction (DRV-02, DRV-07, DRV-22)"
SLOW = "/etc/dpkg/dpkg.cfg.d/slow"
BEGUN, HOLD = "/run/lab-begun", "/run/lab-hold"
FOLDER = "/var/lib/gpugen"
UNIT = "gpugen-job.service"
UNREACHABLE = 4  # ansible-playbook's status
MOST = 120  # seconds that any step may take before the lab gives up


class Story:
    """The steps, each a property that is computed once."""

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.room, self.checkout = room, checkout
        self.hosts = room.boot(dict.fromkeys((TORN, BARE), Machine()))

    def render(self, driver: str) -> None:
        """Ask for a driver."""
        nodes = [self.hosts[name] for name in (TORN, BEHIND) if name in self.hosts]
        self.checkout.render(spec(self.room, nodes, driver=driver))

    def play(self, *arguments: str) -> Run:
        """Run the play, one host after the other; a dead link is given up sooner than by default.

        The number of signs of life that may fail to come stays as it is.
        """
        settings = ConfigParser(interpolation=None)
        settings.read(self.checkout.plays / "ansible.cfg")
        default = settings["ssh_connection"]["ssh_args"]
        sooner, count = re.subn("(ServerAliveInterval)=[0-9]+", r"\1=2", default)
        assert count == 1
        extra = {"gpugen_serial": 1, "ansible_ssh_args": sooner, **REBOOT}
        return self.checkout.play(*arguments, extra=extra)

    @property
    def node(self) -> Node:
        """The host whose link breaks."""
        return self.hosts[TORN]

    def is_there(self, path: str) -> bool:
        """Tell whether the host has a file."""
        return self.node.run("sh", "-c", f"test -e {path} && echo yes", status=None) == "yes\n"

    @cached_property
    def installed(self) -> Run:
        """The first driver; one host is made, the other is like it."""
        self.render(OLD)
        run = self.play()
        layer = self.hosts[TORN].keep(self.checkout.folder)
        self.hosts |= self.room.boot({BEHIND: Machine(layer=layer)})
        return run

    @cached_property
    def torn(self) -> tuple[Run, str, dict[str, str]]:
        """The link dies while dpkg works; what the unit was then, and its folder's rights."""
        assert self.installed.code == 0, self.installed.output
        waits = f"pre-invoke=touch {BEGUN}; while test -e {HOLD}; do sleep 1; done"
        self.node.sh(f"cat >{SLOW}; touch {HOLD}", f"{waits}\n")
        self.render(NEW)
        runs: list[Run] = []
        thread = threading.Thread(target=lambda: runs.append(self.play()))
        thread.start()
        wait_until("a transaction", lambda: self.is_there(BEGUN), MOST)
        self.node.sh("ip link set host0 down")
        thread.join()
        paths = ("", "/job", "/job/request.json", "/job/result.json")
        modes = {path: self.node.sh(f"stat -c '%a %U' {FOLDER}{path}").strip() for path in paths}
        state = self.node.run("systemctl", "is-active", UNIT, status=None).strip()
        return runs[0], state, modes

    @cached_property
    def continued(self) -> tuple[Run, list[Run]]:
        """The link is back while the transaction still runs; it ends, and the next run finds it."""
        assert self.torn
        self.node.sh("ip link set host0 up")
        runs: list[Run] = []
        thread = threading.Thread(target=lambda: runs.append(self.play()))
        thread.start()
        wait_until("the probe", lambda: "probe" in self.waiting(), MOST)
        self.node.sh(f"rm {HOLD} {SLOW}")
        thread.join()
        return runs[0], [self.play()]

    def waiting(self) -> str:
        """Return "probe" while a program of the next run waits on the host."""
        shown = self.node.run("sh", "-c", "ls -d /tmp/ansible_*payload_*", status=None)
        return "probe" if "probe" in shown else ""

    def job(self, node: Node, do: str, *argv: str) -> tuple[int, str]:
        """Ask job.py on a host; return its status, 1 where not known yet, and what it says."""
        names = ("job.py", "job_unit.py")
        program, unit = ((PROGRAMS / name).read_text("utf-8") for name in names)
        program += f"\nimport sys\n{STEP}"
        question = {"do": do, "argv": argv, "unit": unit}
        line = 'said=$(python3 -c "$0" "$1" 2>&1); echo "$?"; test -z "$said" || echo "$said"'
        said = node.run("/bin/sh", "-uc", line, program, json.dumps(question))
        code, _, said = said.partition("\n")
        return int(code), said


@pytest.fixture(scope="module")
def story(room: Room, checkout: Checkout) -> Iterator[Story]:
    own = Story(room, checkout)
    yield own
    room.stop(own.hosts.values())


def test_the_command_s_own_status_and_words_are_handed_on_once(story: Story) -> None:
    node = story.hosts[BARE]
    code, said = story.job(node, "start", "sh", "-c", "echo out; echo err >&2; exit 100")
    assert (code, sorted(said.split())) == (100, ["err", "out"])
    assert story.job(node, "await", "sh", "-c", "echo out; echo err >&2; exit 100")[0] == 1
    assert node.run("ls", FOLDER, status=None) == ""


def test_the_command_gets_the_fixed_environment(story: Story) -> None:
    node = story.hosts[BARE]
    node.sh("echo 'LANG=de_DE.UTF-8\nLANGUAGE=de_DE:de' >/etc/locale.conf; systemctl daemon-reexec")
    _, said = story.job(node, "start", "env")
    found = dict(line.split("=", 1) for line in said.splitlines())
    assert (found["LC_ALL"], found["LANGUAGE"]) == ("C.UTF-8", "")
    assert "LANG" not in found
    assert found["DEBIAN_FRONTEND"] == "noninteractive"


def test_what_is_left_of_an_earlier_run_never_passes_for_this_one(story: Story) -> None:
    """The same command, whose old result nobody read."""
    node = story.hosts[BARE]
    command = ("sh", "-c", "date +%s%N; exit $(cat /run/status)")
    old = {"rc": 0, "out": "old", "err": ""}
    node.sh(f"mkdir -p {FOLDER}/job; echo 3 >/run/status")
    node.sh(f"cat >{FOLDER}/job/result.json", json.dumps(old))
    code, said = story.job(node, "start", *command)
    assert code == 3
    assert "old" not in said


def test_a_second_start_of_the_same_joins_it_and_of_another_waits(story: Story) -> None:
    node = story.hosts[BARE]
    node.sh("touch /run/stay")
    command = ("sh", "-c", "echo once >>/run/count; while test -e /run/stay; do sleep 0.2; done")
    runs: list[tuple[int, str]] = []
    threads = [
        threading.Thread(target=lambda own=own: runs.append(story.job(node, "start", *own)))
        for own in (command, command)
    ]
    for thread in threads:
        thread.start()
    wait_until("a unit", lambda: node.run("sh", "-c", "cat /run/count", status=None) != "")
    assert story.job(node, "start", "true") == (1, "busy\n")
    node.sh("rm /run/stay")
    for thread in threads:
        thread.join()
    assert story.job(node, "start", "true") == (0, "")
    assert node.run("cat", "/run/count") == "once\n"


def test_what_was_killed_is_said_to_be_broken_off(story: Story) -> None:
    node = story.hosts[BARE]
    code, said = story.job(node, "start", "sh", "-c", f"systemctl kill -s KILL {UNIT}; sleep 60")
    assert code == 1
    assert "broken off before its end" in said


def test_a_full_disk_and_a_unit_of_somebody_else_begin_nothing(story: Story) -> None:
    node = story.hosts[BARE]
    node.sh(f"mkdir -p {FOLDER}; mount -t tmpfs -o size=16k lab {FOLDER}")
    code, said = story.job(node, "start", "touch", "/run/never")
    assert (code, "No space left on device" in said) == (1, True)
    node.sh(f"umount {FOLDER}; echo '[Service]\nExecStart=/bin/true' >/etc/systemd/system/{UNIT}")
    node.sh("systemctl daemon-reload")
    code, said = story.job(node, "start", "touch", "/run/never")
    assert (code, "nothing was begun: systemd-run:" in said) == (1, True)
    node.sh(f"rm /etc/systemd/system/{UNIT}; systemctl daemon-reload; test ! -e /run/never")


def test_a_dead_link_ends_the_run_and_nobody_behind_is_touched(story: Story) -> None:
    run, _, _ = story.torn
    assert run.code & UNREACHABLE, run.output
    assert f"{TORN}.{DOMAIN}" in run.output.partition("UNREACHABLE!")[0].splitlines()[-1]
    assert INSTALL not in run[BEHIND].changed
    assert OLD in story.hosts[BEHIND].versions()["nvidia-open"]


def test_the_transaction_outlives_the_link_for_root_alone(story: Story) -> None:
    _, state, modes = story.torn
    assert state == "active"
    assert modes == {
        **dict.fromkeys(("", "/job"), "700 root"),
        **dict.fromkeys(("/job/request.json", "/job/result.json"), "600 root"),
    }


def test_the_next_run_waits_for_its_end_tells_it_and_goes_on(story: Story) -> None:
    run, _ = story.continued
    assert run.code == 0, run.output
    assert "an earlier run lost this host while it ran apt-get" in run.output
    assert "it succeeded" in run.output
    assert INSTALL not in run[TORN].changed
    assert INSTALL in run[BEHIND].changed
    for name in (TORN, BEHIND):
        assert NEW in story.hosts[name].versions()["nvidia-open"]


def test_a_run_after_that_changes_nothing(story: Story) -> None:
    _, (again,) = story.continued
    assert again.code == 0, again.output
    assert (again[TORN].changed, again[BEHIND].changed) == ((), ())
    assert story.node.run("ls", FOLDER, status=None) == ""
