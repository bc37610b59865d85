"""CTK-04: packages and hooks of former toolkits leave with the host emptied, and by a word.

In one transaction with the packages that come (CTK-01); docker's settings stay (CTK-15).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from support.lab.nodes import base, el, runtimes
from support.lab.nodes.machine import DEBIAN, Machine
from support.lab.nodes.node import Node
from support.lab.nodes.plays import ALL_AT_ONCE, REBOOT, Checkout, Run, spec
from support.lab.nodes.room import Room
from support.lab.nodes.standins import FORMER_JSON
from support.required import missing

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

ROLE = "nvidia_container_toolkit"
APT, DNF = "apt", "dnf"
ALLOWED = {**ALL_AT_ONCE, **REBOOT}
DAEMON_JSON = "/etc/docker/daemon.json"
RECORD = "/var/lib/misc/gpugen-nvidia-container-toolkit.json"
HOOK = "/etc/containers/oci/hooks.d/oci-nvidia-hook.json"
HOOK_TEXT = '{"version": "1.0.0", "hook": {"path": "/usr/bin/nvidia-container-toolkit"}}\n'
OLD = ("nvidia-container-runtime", "nvidia-docker2")
MIRRORS = ["https://registry.lab.example"]
TOOLKIT = "nvidia-container-toolkit"
INSTALL = {
    APT: (
        f"apt-get -qq update; apt-get -qq -y install {' '.join(OLD)} {TOOLKIT}=1.19.1-1"
        f" {TOOLKIT}-base=1.19.1-1 libnvidia-container-tools=1.19.1-1"
        " libnvidia-container1=1.19.1-1; apt-mark hold nvidia-docker2"
    ),
    DNF: f"dnf -q -y install {' '.join(OLD)} {TOOLKIT}-1.19.1",
}
TOOL = {  # which needs nvidia-docker2
    APT: ("apt-get -qq -y install own-gpu-tool", "dpkg --purge own-gpu-tool"),
    DNF: ("dnf -q -y install own-gpu-tool", "rpm -e own-gpu-tool"),
}
LANES = pytest.mark.parametrize("lane", [APT, DNF])


@dataclass(frozen=True)
class Step:
    """A play, and what the host looked like before and after it."""

    run: Run
    before: Mapping[str, str]
    after: Mapping[str, str]

    @property
    def changed(self) -> set[str]:
        """Paths that are not as they were."""
        both = {**self.after, **self.before}
        return {path for path in both if self.after.get(path) != self.before.get(path)}


class Host:
    """A host with a former toolkit, step by step."""

    def __init__(self, room: Room, folder: Path, lane: str, node: Node) -> None:
        self.lane, self.node = lane, node
        self.checkout = Checkout(room, folder)
        content = spec(room, [node])
        if lane == DNF:
            content["hostDefaults"]["os"] = el.EL9
        else:
            content["hostDefaults"]["containerToolkit"]["furtherRuntimes"] = ["docker"]
        self.checkout.render(content)
        node.sh(INSTALL[lane])
        node.sh(f"mkdir -p {Path(HOOK).parent}; cat >{HOOK}", text=HOOK_TEXT)
        if lane == APT:
            own = {**json.loads(FORMER_JSON), "registry-mirrors": MIRRORS}
            node.sh(f"cat >{DAEMON_JSON}; systemctl restart docker", text=json.dumps(own))

    def step(self, extra: Mapping[str, Any] = ALLOWED, playbook: str = "site.yml") -> Step:
        """Run the role and look."""
        before = self.node.changes()
        run = self.checkout.play("--tags", ROLE, playbook=playbook, extra=extra)
        return Step(run, before, self.node.changes())

    @cached_property
    def silent(self) -> Step:
        """Without the word."""
        return self.step(ALL_AT_ONCE)

    @cached_property
    def needed(self) -> Step:
        """With the word, while another package needs a former one."""
        assert self.silent
        install, remove = TOOL[self.lane]
        self.node.sh(install)
        step = self.step()
        self.node.sh(remove)
        return step

    @cached_property
    def exchanged(self) -> Step:
        """With the word."""
        assert self.needed
        step = self.step()
        assert step.run.code == 0, step.run.output
        return step

    @cached_property
    def again(self) -> Step:
        """Once more, without the word."""
        assert self.exchanged
        return self.step(ALL_AT_ONCE)

    def packages(self) -> dict[str, str]:
        """Return the vendor's packages."""
        return self.node.versions() if self.lane == APT else el.versions(self.node)

    def transactions(self) -> list[str]:
        """Return what the package manager wrote of its transactions, the last one last."""
        if self.lane == APT:
            return self.node.read("/var/log/apt/history.log").split("\n\n")
        return [self.node.run("dnf", "-q", "history", "info", "last")]


@pytest.fixture(scope="module")
def hosts(room: Room, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Host]]:
    folder = tmp_path_factory.mktemp("former")
    try:
        docker = runtimes.docker(base.docker())
        el.tree()
    except base.UnavailableError as problem:
        missing(str(problem))
    vendor = f"[lab]\nname=lab\nbaseurl=http://10.77.0.1:8080/{el.FOLDERS[el.EL9]}\ngpgcheck=0\n"
    bare = {path: text for path, text in docker.files.items() if path != DAEMON_JSON[1:]}
    machines = {
        APT: replace(docker, system=DEBIAN, files=bare),
        DNF: Machine(system=el.EL9, files={"etc/yum.repos.d/lab.repo": vendor}),
    }
    nodes = room.boot(machines)
    yield {lane: Host(room, folder / lane, lane, nodes[lane]) for lane in machines}
    room.stop(nodes.values())


@LANES
def test_a_former_toolkit_waits_for_the_word(hosts: dict[str, Host], lane: str) -> None:
    step = hosts[lane].silent
    (message,) = step.run[lane].messages
    assert f"{', '.join(OLD)}, {HOOK} of a former toolkit leaves (CTK-04)" in message
    assert "gpugen_allow_disruption" in message
    assert step.run[lane].changed == ()
    assert step.changed <= {"etc"}


@LANES
def test_what_needs_a_former_package_is_not_taken_along(hosts: dict[str, Host], lane: str) -> None:
    host = hosts[lane]
    step = host.needed
    message = step.run[lane].messages[-1]
    assert f"CTK-04: {', '.join(OLD)} would take own-gpu-tool along" in message
    assert not [path for path in step.changed if "preferences" in path or "versionlock" in path]
    assert host.node.read(RECORD)  # of what was there; nothing else is ours yet


@LANES
def test_old_goes_and_new_comes_in_one_transaction(hosts: dict[str, Host], lane: str) -> None:
    host = hosts[lane]
    assert host.exchanged
    packages = host.packages()
    assert not packages.keys() & set(OLD)
    assert {v.partition("-")[0] for n, v in packages.items() if "container" in n} == {"=1.20.0"}
    assert len([n for n in packages if "container" in n]) == 4
    last = [text for text in host.transactions() if text.strip()][-1]
    for name in (*OLD, TOOLKIT):
        assert name in last
    if lane == APT:
        assert "Remove: " in last
        assert "Upgrade: " in last
    assert host.node.read(HOOK) == ""


@LANES
def test_dockers_settings_stay(hosts: dict[str, Host], lane: str) -> None:
    """CTK-15: daemon.json belongs to nvidia-docker2, and would go with it."""
    host = hosts[lane]
    assert host.exchanged
    text = host.node.read(DAEMON_JSON)
    if lane == DNF:  # docker is not in the spec: not a byte
        assert text == FORMER_JSON
        return
    found = json.loads(text)
    assert found["registry-mirrors"] == MIRRORS
    assert found["runtimes"]["nvidia"]["path"] == "/usr/bin/nvidia-container-runtime"
    known = json.loads(host.node.run("cat", "/run/docker-runtimes.json"))
    assert set(known) == {"runc", "nvidia"}


@LANES
def test_what_left_is_recorded(hosts: dict[str, Host], lane: str) -> None:
    host = hosts[lane]
    assert host.exchanged
    removed = json.loads(host.node.read(RECORD))["removed"]
    assert set(removed["packages"]) == set(OLD)
    assert removed["packages"]["nvidia-docker2"]["version"].startswith("2.13.0")
    assert removed["hooks"][HOOK]["text"] == HOOK_TEXT


@LANES
def test_then_nothing_is_due_and_no_word_needed(hosts: dict[str, Host], lane: str) -> None:
    host = hosts[lane]
    assert host.again.run.code == 0, host.again.run.output
    assert host.again.run[lane].changed == ()
    assert host.step(ALL_AT_ONCE, "verify.yml").run.code == 0
