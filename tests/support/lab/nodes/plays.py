"""Specs for nodes of the lab, rendered by gpugen, and runs of the plays that came out."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from support.commands import gpugen
from support.lab.nodes import base, machine
from support.lab.nodes.node import Node
from support.lab.nodes.room import Room

CLUSTER = "lab"
DOMAIN = "lab.example"
CALLBACKS = Path(__file__).parent / "callbacks"
PATIENCE = 400  # seconds for a play; the machine may be shared
ALL_AT_ONCE = {"gpugen_serial": "100%"}
SEED = int(os.environ.get("GPUGEN_LAB_SEED", "20261122"))  # `sh tests/draw` sets new ones
REBOOT = {"gpugen_allow_disruption": True}  # the word that lets a play interrupt a host


@dataclass(frozen=True, slots=True)
class HostRun:
    """What a play did to one host.

    messages: of failed tasks. modules: starts of modules by task. first_write: how many there
    were when the first task had changed something, 0 where none did.
    """

    changed: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    is_failed: bool = False
    modules: Mapping[str, int] = field(default_factory=dict)
    first_write: int = 0

    @property
    def module_runs(self) -> int:
        """Starts of a module, on the host or for it."""
        return sum(self.modules.values())

    @property
    def moment(self) -> int:
        """A number of starts between the first write and the end, drawn from the seed."""
        return random.Random(SEED).randint(self.first_write, self.module_runs)


@dataclass(frozen=True, slots=True)
class Run:
    """What a play did. code: of ansible-playbook; 2 where hosts failed, -9 where it was killed.

    spent: CPU seconds of the control host by task, start-up included under an empty name.
    """

    code: int
    hosts: Mapping[str, HostRun]
    output: str
    spent: Mapping[str, float] = field(default_factory=dict)

    def __getitem__(self, node: str) -> HostRun:
        """Return what happened to a node of the lab."""
        return self.hosts[f"{node}.{DOMAIN}"]


def spec(room: Room, nodes: Iterable[Node], **changes: Any) -> dict[str, Any]:
    """Return the spec of a cluster of nodes. changes: driver, toolkit, access, pool (merged)."""
    hosts = [{"name": f"{node.name}.{DOMAIN}", "address": node.address} for node in nodes]
    return {
        "apiVersion": "gpugen/v1",
        "kind": "Cluster",
        "name": CLUSTER,
        "release": "2026.11",
        "kubernetes": {"version": "1.36", "distribution": "kubeadm"},
        "access": {"ssh": {"user": base.USER}, **changes.get("access", {})},
        "hostDefaults": {
            "os": "debian-12",
            "driver": {"version": changes.get("driver", "580.105.08")},
            "containerToolkit": {"version": changes.get("toolkit", "1.20.0")},
            "repositories": {
                "baseURL": room.address,
                "keyFile": "keys/lab.asc",
                "fingerprint": changes.get("fingerprint", room.key.fingerprint),
            },
        },
        "pools": [
            {
                "name": "train",
                "gpu": {"model": "a100-sxm4-40gb", "count": 4},
                "hosts": hosts,
                **changes.get("pool", {}),
            }
        ],
        "components": {},
    }


class Checkout:
    """A repository of specs beside the room, and the plays that are run from its output."""

    def __init__(self, room: Room, folder: Path) -> None:
        self.room = room
        self.folder = folder
        self._runs = 0
        self._inventory = folder / "lab-inventory.yml"
        (folder / "keys").mkdir(parents=True)
        (folder / "keys" / "lab.asc").write_bytes(room.key.public)

    @property
    def plays(self) -> Path:
        """Folder of the rendered plays."""
        return self.folder / "out" / CLUSTER / "ansible"

    def render(self, content: Mapping[str, Any]) -> None:
        """Write a spec and render it."""
        file = self.folder / "inventories" / CLUSTER / "cluster.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content), encoding="utf-8")
        answer = gpugen("render", CLUSTER, cwd=self.folder)
        assert answer.code == 0, answer.err

    def play(
        self,
        *arguments: str,
        playbook: str = "site.yml",
        extra: Mapping[str, Any] = ALL_AT_ONCE,
        host_variables: Mapping[str, Mapping[str, Any]] | None = None,
        kill_at: int = 0,
    ) -> Run:
        """Run a playbook. host_variables: by node; kill_at: number of the module run to die in."""
        self._runs += 1
        record = self.folder / f"run-{self._runs}.jsonl"
        self._write_inventory(host_variables or {})
        command = [
            *(sys.executable, "-m", "ansible", "playbook", playbook),
            *("-i", "inventory", "-i", str(self._inventory)),
            *("--extra-vars", json.dumps(extra), *arguments),
        ]
        environment = {**self._environment(record), "GPUGEN_LAB_KILL_AT": str(kill_at)}
        process = subprocess.Popen(
            self.room.switch.inside(command),
            cwd=self.plays,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            output, _ = process.communicate()
        entries = _entries(record)
        return Run(process.returncode, _hosts(entries), output, _spent(entries))

    def _write_inventory(self, host_variables: Mapping[str, Mapping[str, Any]]) -> None:
        options = [f"UserKnownHostsFile={self.room.known_hosts}", "LogLevel=ERROR"]
        common = {
            "ansible_ssh_private_key_file": str(self.room.ssh_key),
            "ansible_ssh_common_args": " ".join(f"-o {option}" for option in options),
            "ansible_python_interpreter": "/usr/bin/python3",
            **machine.PRIVATE,
        }
        hosts = {f"{node}.{DOMAIN}": dict(own) for node, own in host_variables.items()}
        self._inventory.write_text(yaml.safe_dump({"all": {"vars": common, "hosts": hosts}}))

    def _environment(self, record: Path) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_HOME": str(self.folder / "ansible-home"),
            "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
            "ANSIBLE_CALLBACKS_ENABLED": "lab_record",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.room.folder / "cp"),
            "GPUGEN_LAB_RECORD": str(record),
        }


def _entries(record: Path) -> list[dict[str, Any]]:
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    return [json.loads(line) for line in lines]


def _spent(entries: list[dict[str, Any]]) -> dict[str, float]:
    moments = [("", 0.0), *((e["task"], e["seconds"]) for e in entries if e["event"] == "cpu")]
    spent: Counter[str] = Counter()
    for (task, before), (_, after) in pairwise(moments):
        spent[task] += after - before
    return dict(spent)


def _hosts(entries: list[dict[str, Any]]) -> dict[str, HostRun]:
    names = {entry["host"] for entry in entries if entry.get("host")}
    recap: dict[str, Any] = next((e["hosts"] for e in entries if e["event"] == "recap"), {})
    return {
        name: _host([entry for entry in entries if entry.get("host") == name], recap.get(name, {}))
        for name in names
    }


def _host(entries: list[dict[str, Any]], recap: Mapping[str, Any]) -> HostRun:
    tasks = [entry for entry in entries if entry["event"] == "task"]
    changes = (n for n, e in enumerate(entries) if e.get("status") == "changed")
    before = entries[: next(changes, 0)]
    return HostRun(
        tuple(task["task"] for task in tasks if task["status"] == "changed"),
        tuple(task["message"] for task in tasks if task["status"] == "failed"),
        bool(recap.get("failures") or recap.get("unreachable")),
        Counter(entry["task"] for entry in entries if entry["event"] == "module"),
        sum(entry["event"] == "module" for entry in before),
    )
