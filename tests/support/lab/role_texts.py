"""What the container toolkit's role would write, rendered by Ansible on this machine.

The role's own tasks read runtimes that lie beside the test; nothing is written and no unit asked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from support import ROOT

ROLE = "nvidia_container_toolkit"
PATIENCE = 300  # seconds for all cells
MARK = "gpugen-texts:"
FACTS = ["!all", "!min", "pkg_mgr", "python"]
RECORD = "record.jsonl"
CALLBACKS = Path(__file__).parent / "nodes" / "callbacks"


def render(
    folder: Path,
    cells: Mapping[str, Mapping[str, Any]],
    names: Iterable[str],
    extra: Mapping[str, Any] | None = None,
) -> dict[str, dict[str, Any]]:
    """Return the values of the role's variables, by cell and by name without the prefix.

    cells: name -> the role's variables there; "__" in front of a name makes it private. extra:
    variables that outweigh the role's own.
    """
    wanted = ", ".join(f"'{name}': {_full('__' + name)}" for name in names)
    tasks = [
        {"ansible.builtin.import_role": {"name": ROLE, "tasks_from": "read"}},
        {"ansible.builtin.debug": {"msg": f"{MARK}{{{{ {{{wanted}}} | to_json }}}}"}},
    ]
    play = {"hosts": "all", "gather_facts": True, "gather_subset": FACTS, "tasks": tasks}
    (folder / "play.yml").write_text(json.dumps([play]))
    if not (folder / "templates").exists():  # lookups outside the role look beside the play
        (folder / "templates").symlink_to(ROOT / "roles" / ROLE / "templates")
    (folder / "hosts.json").write_text(json.dumps(_inventory(cells)))
    _run(folder, {_full(name): value for name, value in (extra or {}).items()})
    return _texts(folder / RECORD)


def _full(name: str) -> str:
    """Return a variable's name with the role's prefix."""
    private = "__" if name.startswith("__") else ""
    return f"{private}{ROLE}_{name.removeprefix('__')}"


def _inventory(cells: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    common = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        _full("version"): "1.20.0",
        _full("services"): ["containerd.service"],
        _full("__ctr"): "false",  # nothing runs yet
    }
    hosts = {
        cell: {_full(name): value for name, value in own.items()} for cell, own in cells.items()
    }
    return {"all": {"hosts": hosts, "vars": common}}


def _run(folder: Path, extra: Mapping[str, Any]) -> None:
    (folder / RECORD).unlink(missing_ok=True)
    command = [sys.executable, "-m", "ansible", "playbook", "-i", "hosts.json", "play.yml"]
    environment = {
        **os.environ,
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_ROLES_PATH": str(ROOT / "roles"),
        "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
        "ANSIBLE_CALLBACKS_ENABLED": "lab_record",
        "GPUGEN_LAB_RECORD": str(folder / RECORD),
        "ANSIBLE_INJECT_FACT_VARS": "False",
        "ANSIBLE_NOCOLOR": "1",
    }
    done = subprocess.run(
        [*command, "--extra-vars", json.dumps(dict(extra))],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def _texts(record: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for entry in map(json.loads, record.read_text(encoding="utf-8").splitlines()):
        message = str(entry.get("message", ""))
        if message.startswith(MARK):
            found[entry["host"]] = json.loads(message.removeprefix(MARK))
    return found
