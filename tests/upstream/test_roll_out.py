"""The rendered plays in Ansible itself, with roles that only note their turn: who runs when.

What the roles do is tested on booted hosts; here a fleet costs a second per run, so every way to
run a part of the plays, and every way to lose a host, can be tried.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen import pipeline
from gpugen.workspace import Workspace
from support import ROOT
from support.collection import beside
from support.required import missing

pytestmark = [pytest.mark.validated_by("ansible-core"), pytest.mark.slow]

CALLBACKS = ROOT / "tests/support/lab/nodes/callbacks"
CLUSTER = "train"
HOSTS = tuple(f"hgx-0{number}.train.example" for number in range(1, 7))
FIRST, SECOND, LOST, *BEHIND = HOSTS
WORD = {"gpugen_allow_disruption": True}
DRIVER = {"stub_disruption": {"nvidia_driver": ["driver 1 -> 2"]}}
GONE = """\
- name: nvidia_driver converge
  ansible.builtin.command: {argv: ["true"]}
  changed_when: false
  vars:
    ansible_connection: "{{ 'ssh' if inventory_hostname == stub_lost | default('') else 'local' }}"
    ansible_host: 127.0.0.1
    ansible_port: 1
"""
EMPTY = """\
- name: gpu_node empty
  ansible.builtin.set_fact: {gpu_node_is_empty: true}
- name: Read the node
  gpugen.hosts.decide: {roles: [gpu_node]}
"""
OPTIONS = {
    "stub_disruption": {"type": "dict", "default": {}},
    "stub_reboots": {"type": "list", "elements": "str", "default": []},
    "stub_shortfalls": {"type": "dict", "default": {}},
    "gpu_node_is_empty": {"type": "bool", "default": False},
}
DECISION = """\
ROLE = __name__.rpartition(".")[2]


def questions(wanted, seen):
    return {}


def decide(seen, wanted):
    return {
        "faults": [],
        "shortfalls": wanted["stub_shortfalls"].get(ROLE, []),
        "interrupts": wanted["stub_disruption"].get(ROLE, []),
        "due": True,
        "reboot_due": ROLE in wanted["stub_reboots"],
        "is_held": wanted["gpu_node_is_empty"],
    }
"""


@dataclass(frozen=True, slots=True)
class Run:
    """What happened: steps of every host that came to its end, in order, and what was said."""

    code: int
    steps: Mapping[str, list[str]]
    messages: Mapping[str, str]

    def after_preflight(self, host: str) -> list[str]:
        """Return a host's steps in the play that works on it."""
        return [
            step for step in self.steps.get(host, []) if not step.endswith(("preflight", "pods"))
        ]


class Plays:
    """The rendered plays of an example, with a note in place of every role's entry point."""

    def __init__(self, folder: Path) -> None:
        workspace = Workspace(ROOT)
        outcome = pipeline.run(workspace.spec_path(CLUSTER), workspace)
        for path, content in dict(pipeline.build(outcome)).items():
            if path.startswith("ansible/"):
                file = folder / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        self.folder = folder / "ansible"
        self._record = folder / "record.jsonl"
        local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        own = {"all": {"vars": local}}
        (folder / "local.yml").write_text(yaml.safe_dump(own), encoding="utf-8")
        collection = beside(folder)
        for role in sorted((collection / "roles").iterdir()):
            self._note_turns(role)
            shutil.rmtree(collection / "plugins/plugin_utils" / role.name)
            _write(collection / f"plugins/plugin_utils/{role.name}.py", DECISION)

    def _note_turns(self, role: Path) -> None:
        specs = yaml.safe_load((role / "meta/argument_specs.yml").read_text(encoding="utf-8"))
        shutil.rmtree(role)
        own = {"gpu_node empty": EMPTY, "nvidia_driver converge": GONE}
        for entry in specs["argument_specs"]:
            name = f"{role.name} {entry}"
            note = f"- name: {name}\n  ansible.builtin.debug: {{msg: its turn}}\n"
            _write(role / f"tasks/{entry}.yml", own.get(name, note))
        main = {"short_description": "A role of the test", "options": OPTIONS}
        _write(role / "meta/argument_specs.yml", yaml.safe_dump({"argument_specs": {"main": main}}))

    def run(
        self,
        *arguments: str,
        playbook: str = "site.yml",
        hosts: tuple[str, ...] = (FIRST,),
        **extra: Any,
    ) -> Run:
        """Run a playbook."""
        self._record.unlink(missing_ok=True)
        extra = {"gpugen_serial": [1, 2, 3], "ansible_become": False, **extra}
        done = subprocess.run(
            [
                *(sys.executable, "-m", "ansible", "playbook", playbook),
                *("-i", "inventory", "-i", "../local.yml", "--limit", ",".join(hosts)),
                *("--extra-vars", json.dumps(extra), *arguments),
            ],
            cwd=self.folder,
            env={
                **os.environ,
                "ANSIBLE_HOME": str(self.folder.parent / "home"),
                "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
                "ANSIBLE_CALLBACKS_ENABLED": "lab_record",
                "GPUGEN_LAB_RECORD": str(self._record),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        entries = [json.loads(line) for line in self._record.read_text("utf-8").splitlines()]
        tasks = [entry for entry in entries if entry["event"] == "task"]
        steps: dict[str, list[str]] = {}
        for task in tasks:
            if task["status"] != "failed" and task["task"].startswith(ROLE_NAMES):
                steps.setdefault(task["host"], []).append(task["task"].partition(" : ")[2])
        failed = {task["host"]: task["message"] for task in tasks if task["status"] == "failed"}
        return Run(done.returncode, steps, failed)


ROLE_NAMES = tuple(f"{path.name} : {path.name} " for path in (ROOT / "roles").iterdir())


def _write(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")


@pytest.fixture(scope="module")
def plays(tmp_path_factory: pytest.TempPathFactory) -> Plays:
    if shutil.which("ssh") is None:
        missing("ssh, by which a host is lost")
    return Plays(tmp_path_factory.mktemp("plays"))


def test_a_host_that_is_lost_in_its_turn_stops_the_roll_out(plays: Plays) -> None:
    """DRV-15: Ansible's own limit counts failures, and would go on behind a host that hangs."""
    run = plays.run(hosts=HOSTS, stub_lost=LOST, **DRIVER, **WORD)
    assert run.code != 0
    assert run.after_preflight(FIRST)[-1] == "gpu_node release"
    assert {host: run.after_preflight(host) for host in BEHIND} == {host: [] for host in BEHIND}
    assert f"{LOST} became unreachable" in run.messages[BEHIND[0]]


def test_a_host_that_never_answered_holds_nobody_up(plays: Plays, tmp_path: Path) -> None:
    away = tmp_path / "away.yml"
    settings = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    away.write_text(yaml.safe_dump({"all": {"hosts": {LOST: settings}}}), encoding="utf-8")
    run = plays.run("-i", str(away), hosts=HOSTS, **DRIVER, **WORD)
    assert run.after_preflight(LOST) == []
    for host in (FIRST, SECOND, *BEHIND):
        assert run.after_preflight(host)[-1] == "gpu_node release", host


def test_every_connection_notices_a_dead_link_also_behind_a_jump_host(
    plays: Plays, tmp_path: Path
) -> None:
    """Keepalives go end to end, so the one of the first command line watches the jump as well."""
    ssh, seen = tmp_path / "ssh", tmp_path / "seen"
    ssh.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >>{seen}\nexit 255\n', encoding="utf-8")
    ssh.chmod(0o755)
    away = tmp_path / "away.yml"
    settings = {
        "ansible_connection": "ssh",
        "ansible_ssh_executable": str(ssh),
        "ansible_ssh_common_args": "-o ProxyJump=bastion.lab.example",
    }
    away.write_text(yaml.safe_dump({"all": {"hosts": {FIRST: settings}}}), encoding="utf-8")
    assert plays.run("-i", str(away)).code == 4
    lines = [line for line in seen.read_text(encoding="utf-8").splitlines() if FIRST in line]
    assert lines
    for wanted in ("ServerAliveInterval=", "ServerAliveCountMax=", "ControlMaster=auto", "Jump="):
        assert all(wanted in line for line in lines), wanted


@pytest.mark.parametrize("tags", ["nvidia_driver", "nvidia_container_toolkit", "gpu_node"])
def test_a_part_of_the_roles_gives_back_the_node_that_it_emptied(plays: Plays, tags: str) -> None:
    """KUB-03: the agents that were sent away are called back before."""
    run = plays.run("--tags", tags, stub_disruption={tags: ["a reason"]}, **WORD)
    own = [f"{tags} converge"] if tags != "gpu_node" else []
    assert run.code == 0
    assert run.after_preflight(FIRST) == [
        *("gpu_node empty", *own, "gpu_node converge", "gpu_node release")
    ]


@pytest.mark.parametrize("role", ["nvidia_driver", "gpu_node"])
def test_a_node_that_is_not_as_expected_stays_cordoned(plays: Plays, role: str) -> None:
    """KUB-03: the host is verified before, and the node behind it."""
    run = plays.run(stub_shortfalls={role: ["DRV-01: not there"]}, **DRIVER, **WORD)
    assert run.after_preflight(FIRST)[-1] == "gpu_node converge"
    assert "DRV-01: not there" in run.messages[FIRST]


def test_a_part_of_the_roles_that_interrupts_nobody_leaves_the_node_alone(plays: Plays) -> None:
    run = plays.run("--tags", "nvidia_driver")
    assert run.after_preflight(FIRST) == ["nvidia_driver converge", "gpu_node release"]


@pytest.mark.parametrize("skipped", ["disruptive", "gpu_node"])
def test_who_skips_the_drain_has_not_allowed_an_interruption(plays: Plays, skipped: str) -> None:
    """DRV-15."""
    run = plays.run("--skip-tags", skipped, **DRIVER, **WORD)
    assert run.after_preflight(FIRST) == []
    assert "DRV-15: driver 1 -> 2; pass" in run.messages[FIRST]


def test_who_skips_a_role_skips_neither_word_nor_drain(plays: Plays) -> None:
    """DRV-15: those belong to all roles."""
    skips = ("--skip-tags", "gpu_prerequisites,nvidia_container_toolkit")
    run = plays.run(*skips, **DRIVER)
    assert "DRV-15: driver 1 -> 2; pass" in run.messages[FIRST]
    run = plays.run(*skips, **DRIVER, **WORD)
    assert run.after_preflight(FIRST) == [
        *("gpu_node empty", "nvidia_driver converge", "gpu_node converge", "gpu_node release")
    ]


def test_who_skips_a_role_still_reboots_for_another(plays: Plays) -> None:
    """DRV-16, DRV-18: here the host is the machine that the play runs on."""
    run = plays.run("--skip-tags", "gpu_prerequisites", stub_reboots=["nvidia_driver"], **WORD)
    assert "DRV-18: reboot required" in run.messages[FIRST]


def test_who_only_checks_touches_nothing(plays: Plays) -> None:
    run = plays.run("--tags", "preflight", **DRIVER, **WORD)
    assert (run.code, run.after_preflight(FIRST)) == (0, ["gpu_node release"])


def test_a_host_that_was_not_checked_is_not_touched(plays: Plays) -> None:
    run = plays.run("--skip-tags", "preflight", **DRIVER, **WORD)
    assert run.after_preflight(FIRST) == []
    assert "not checked, so it is unknown" in run.messages[FIRST]


def test_one_role_alone_is_removed_and_the_node_given_back(plays: Plays) -> None:
    """KUB-03: the roles that stay bring their agents back."""
    words = {"gpugen_remove": True, "gpugen_serial": "100%"}
    run = plays.run("--tags", "nvidia_driver", playbook="remove.yml", **words)
    assert run.code == 0
    assert run.after_preflight(FIRST) == [
        *("gpu_node empty", "nvidia_driver absent", "gpu_node converge", "gpu_node release"),
    ]


def test_the_removal_of_the_schedulers_file_empties_no_node(plays: Plays) -> None:
    words = {"gpugen_remove": True, "gpugen_serial": "100%"}
    run = plays.run("--tags", "kube_scheduler", playbook="remove.yml", **words)
    assert (run.code, run.after_preflight(FIRST)) == (0, ["gpu_node release"])


def test_everything_is_removed_behind_the_node(plays: Plays) -> None:
    run = plays.run(playbook="remove.yml", gpugen_remove=True)
    assert run.after_preflight(FIRST) == [
        *("gpu_node empty", "gpu_node absent", "nvidia_container_toolkit absent"),
        *("nvidia_driver absent", "gpu_prerequisites absent", "gpu_node release"),
    ]
