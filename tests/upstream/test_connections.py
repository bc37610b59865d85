"""The real Ansible builds its ssh command lines and delegates its tasks from what is rendered."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpugen.assemble import assemble
from gpugen.model.tree import Tree
from gpugen.render.hosts import render_hosts
from support.specs import changed, resolved

pytestmark = pytest.mark.validated_by("ansible-core")

SSH = """\
#!/bin/sh
for argument; do printf '%s\\0' "$argument"; done > "$RECORD/$$"
exit 255
"""
CLUSTER = {
    "user": "ops",
    "port": 2222,
    "becomeMethod": "su",
    "interpreter": "/usr/bin/python3.11",
    "proxyJump": ["ops@bastion.lab.example:22"],
}
OWN = {
    "port": 2022,
    "become": False,
    "proxyJump": ["[2001:db8::1]:2200", "second.lab.example"],
}


def second_pool(**more: Any) -> dict[str, Any]:
    pool: dict[str, Any] = changed({})["pools"][0]
    return {**pool, "name": "second", **more}


def written(changes: dict[str, Any], folder: Path) -> Path:
    """Render the Ansible half, checked or not; return its folder."""
    spec = resolved(changes)
    tree = Tree()
    render_hosts(spec, assemble(spec), tree)
    for path in tree.below("ansible"):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(tree[path])
    for name in ("ssh-record", "su-record"):
        (folder / name).mkdir()
    program = folder / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(SSH)
    program.chmod(0o755)
    return folder / "ansible"


def run(folder: Path, program: str, *arguments: str, record: str = "ssh-record") -> str:
    """Run Ansible with an ssh that notes how it is called; return what was printed."""
    environment = {
        **os.environ,
        "PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}",
        "RECORD": str(folder.parent / record),
        "HOME": str(folder.parent),
        "ANSIBLE_HOME": str(folder.parent / ".ansible"),
        "NO_COLOR": "1",
    }
    command = [sys.executable, "-m", "ansible", program, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def calls(folder: Path, record: str = "ssh-record") -> dict[str, list[str]]:
    """Return the first call of ssh per host, as arguments."""
    found: dict[str, list[str]] = {}
    for file in sorted((folder.parent / record).iterdir(), key=lambda f: f.stat().st_mtime_ns):
        arguments = file.read_text().split("\0")[:-1]
        found.setdefault(arguments[-2], arguments)
    return found


def options(arguments: list[str]) -> dict[str, str]:
    """Return what stands behind -o, by name."""
    pairs = [b for a, b in itertools.pairwise(arguments) if a == "-o"]
    return {name: value.strip('"') for name, _, value in (pair.partition("=") for pair in pairs)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the plays of a cluster with settings at every level, after a ping of all hosts."""
    hosts = ["pool.lab.example", {"name": "own.lab.example", "ssh": OWN}]
    control = {"name": "cp-1.lab.example", "ssh": {"user": "root", "become": False}}
    changes = {
        "/access/ssh": CLUSTER,
        "/pools/0/hosts": ["wide.lab.example"],
        "/pools/1": second_pool(hosts=hosts, ssh={"user": "pool"}),
        "/controlPlane": {"hosts": [control, "cp-2.lab.example"]},
        "/components": {"scheduler": {}},
    }
    made = written(changes, tmp_path_factory.mktemp("connections"))
    answer = run(made, "adhoc", "all", "-m", "ansible.builtin.ping", "-e", "ansible_become=false")
    assert "gpugen_control | SUCCESS" in answer, answer
    root = ("-m", "ansible.builtin.raw", "-a", "id", "--become")
    run(made, "adhoc", "all", *root, record="su-record")
    return made


def test_the_clusters_settings_reach_hosts_that_state_none(folder: Path) -> None:
    for host in ("wide.lab.example", "cp-2.lab.example"):
        arguments = calls(folder)[host]
        found = options(arguments)
        assert (found["User"], found["Port"]) == ("ops", "2222")
        assert found["ProxyJump"] == "ops@bastion.lab.example:22"
        assert "/usr/bin/python3.11" in arguments[-1]
        assert calls(folder, "su-record")[host][-1].startswith("su  root")


def test_a_pools_settings_replace_the_clusters_whole(folder: Path) -> None:
    arguments = calls(folder)["pool.lab.example"]
    found = options(arguments)
    assert found["User"] == "pool"
    assert {"Port", "ProxyJump"}.isdisjoint(found)
    assert "/usr/bin/python3.11" not in arguments[-1]
    assert calls(folder, "su-record")["pool.lab.example"][-1].startswith("sudo ")


def test_a_lines_settings_replace_the_pools_whole(folder: Path) -> None:
    arguments = calls(folder)["own.lab.example"]
    found = options(arguments)
    assert "User" not in found
    assert found["Port"] == "2022"
    assert found["ProxyJump"] == "[2001:db8::1]:2200,second.lab.example"
    assert "/usr/bin/python3.11" not in arguments[-1]
    assert calls(folder, "su-record")["own.lab.example"][-1] == "id"
    control = calls(folder)["cp-1.lab.example"]
    assert options(control)["User"] == "root"
    assert {"Port", "ProxyJump"}.isdisjoint(options(control))


def test_ways_over_bastions_share_no_socket_with_others(folder: Path) -> None:
    sockets = {host: options(found)["ControlPath"] for host, found in calls(folder).items()}
    assert len({str(Path(path).parent) for path in sockets.values()}) == 3
    assert all("ControlPersist" in " ".join(found) for found in calls(folder).values())


def test_the_control_host_is_reached_without_ssh_and_without_become(folder: Path) -> None:
    assert "gpugen_control" not in calls(folder)
    said = json.loads(run(folder, "inventory", "--host", "gpugen_control", "--export"))
    assert said["ansible_become"] is False
    graph = run(folder, "inventory", "--graph", "gpu") + run(
        folder, "inventory", "--graph", "control_plane"
    )
    assert "gpugen_control" not in graph


PLAY = [
    {
        "hosts": "gpu",
        "gather_facts": False,
        "become": True,
        "tasks": [
            {
                "name": "Delegated",
                "ansible.builtin.command": {
                    "argv": ["touch", "{{ ran }}/{{ inventory_hostname }}"]
                },
                "delegate_to": "gpugen_control",
                "become": False,
            }
        ],
    }
]


@pytest.mark.parametrize("limit", ["gpu", "pool_second"])
def test_delegated_tasks_stay_here_whatever_hosts_are_called(tmp_path: Path, limit: str) -> None:
    hostile = ["127.0.0.1", "localhost", "ip6-localhost", "0.0.0.0"]
    hosts = [{"name": name, "address": "192.0.2.1"} for name in hostile]
    changes = {
        "/access/ssh": CLUSTER,
        "/pools/1": second_pool(hosts=[*hosts, "plain.lab.example"]),
    }
    folder = written(changes, tmp_path)
    (folder / "delegated.yml").write_text(json.dumps(PLAY))
    ran = tmp_path / "ran"
    ran.mkdir()
    answer = run(folder, "playbook", "delegated.yml", "--limit", limit, "-e", f"ran={ran}")
    assert {*hostile, "plain.lab.example"} <= {file.name for file in ran.iterdir()}, answer
    assert not calls(folder)
