"""The action that reads a host and decides, run by the real Ansible on a role of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest
import yaml

from support import ROOT

SPECS = {
    "argument_specs": {
        "main": {
            "short_description": "A role of the test",
            "options": {
                "door_path": {"type": "path", "required": True},
                "door_text": {"type": "str", "default": "open"},
                "door_reasons": {"type": "list", "elements": "str", "default": []},
            },
        }
    }
}
ROLE = """
def questions(wanted, seen):
    asked = {"files": [wanted["door_path"]], "control": {"commands": {"own": ["echo", "here"]}}}
    if seen.get("files", {}).get(wanted["door_path"]):
        asked["commands"] = {"list": ["ls", wanted["door_path"]]}
    return asked


def decide(seen, wanted):
    found = (seen["files"][wanted["door_path"]] or {"text": ""})["text"]
    return {
        "faults": ["DOR-01: " + each for each in wanted["door_reasons"]],
        "shortfalls": [] if found == wanted["door_text"] else [f"DOR-02: the door is {found!r}"],
        "interrupts": [],
        "due": found != wanted["door_text"],
        "reboot_due": False,
        "found": found,
        "listed": seen["commands"].get("list", {}).get("out", ""),
        "control": seen["control"]["commands"]["own"]["out"],
        "state": wanted["state"],
        "private": wanted.get("__door_private", ""),
    }
"""


class Told(NamedTuple):
    """What a play said. code: of ansible-playbook."""

    code: int
    output: str
    shown: Any


@pytest.fixture
def collections(tmp_path: Path) -> Path:
    """Return a folder of collections with our plugins, and one role more."""
    own = tmp_path / "collections" / "ansible_collections" / "gpugen" / "hosts"
    shutil.copytree(ROOT / "plugins", own / "plugins")
    shutil.copytree(ROOT / "meta", own / "meta")
    (own / "galaxy.yml").write_bytes((ROOT / "galaxy.yml").read_bytes())
    (own / "plugins" / "plugin_utils" / "door.py").write_text(ROLE)
    (own / "roles" / "door" / "meta").mkdir(parents=True)
    (own / "roles" / "door" / "meta" / "argument_specs.yml").write_text(yaml.safe_dump(SPECS))
    return tmp_path / "collections"


def play(
    collections: Path, *tasks: dict[str, Any], options: tuple[str, ...] = (), **variables: Any
) -> Told:
    """Run tasks on this machine; the last one prints the decision as JSON."""
    folder = collections.parent
    out = folder / "shown.json"
    shows = {"content": "{{ ansible_facts.door_decision | to_json }}", "dest": str(out)}
    last = {"ansible.builtin.copy": shows, "when": "ansible_facts.door_decision is defined"}
    every = [{**task, "tags": ["always"]} for task in (*tasks, last)]
    plays = [{"hosts": "localhost", "gather_facts": False, "tasks": every}]
    (folder / "play.yml").write_text(json.dumps(plays))
    (folder / "hosts.yml").write_text(
        json.dumps({"all": {"hosts": {"localhost": {"ansible_connection": "local"}}}})
    )
    done = subprocess.run(
        [
            *(sys.executable, "-m", "ansible", "playbook", "-i", "hosts.yml", "play.yml", *options),
            *("-e", json.dumps({"ansible_python_interpreter": sys.executable, **variables})),
        ],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_COLLECTIONS_PATH": str(collections),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    shown = json.loads(out.read_text()) if out.is_file() else None
    return Told(done.returncode, done.stdout + done.stderr, shown)


def decide(**options: Any) -> dict[str, Any]:
    own = {"roles": ["door"], **options}
    return {"gpugen.hosts.decide": own, "register": "gpugen_check"}


def test_a_role_sees_its_answers_in_two_rounds(collections: Path, tmp_path: Path) -> None:
    (tmp_path / "door").write_text("open")
    told = play(collections, decide(), door_path=str(tmp_path / "door"), __door_private="p")
    assert told.code == 0, told.output
    assert told.shown["found"] == "open"
    assert told.shown["listed"].strip() == str(tmp_path / "door")
    assert told.shown["control"] == "here\n"
    assert told.shown["private"] == "p"
    assert told.shown["state"] == "present"
    assert not told.shown["due"]


def test_text_of_a_host_is_data(collections: Path, tmp_path: Path) -> None:
    (tmp_path / "door").write_text("{{ lookup('pipe', 'touch ' ~ playbook_dir ~ '/pwned') }}")
    told = play(collections, decide(), door_path=str(tmp_path / "door"))
    assert told.code == 0, told.output
    assert told.shown["found"].startswith("{{ lookup(")
    assert not (tmp_path / "pwned").exists()


def test_all_reasons_at_once(collections: Path) -> None:
    told = play(collections, decide(), door_path="/nowhere", door_reasons=["a", "b"])
    assert told.code == 2
    assert "localhost: DOR-01: a; DOR-01: b" in told.output


def test_verify_names_what_differs(collections: Path) -> None:
    told = play(collections, decide(refuse=False, verify=True), door_path="/nowhere")
    assert told.code == 2
    assert "localhost: DOR-02: the door is ''" in told.output


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "missing required arguments: door_path"),
        ({"door_path": "/x", "door_reasons": {"a": 1}}, "'door_reasons'"),
    ],
)
def test_variables_are_checked(collections: Path, variables: Any, words: str) -> None:
    told = play(collections, decide(), **variables)
    assert told.code == 2
    assert words in told.output


def test_a_host_as_data(collections: Path, tmp_path: Path) -> None:
    write = {"ansible.builtin.copy": {"content": "open", "dest": str(tmp_path / "door")}}
    told = play(
        collections,
        decide(),
        write,
        decide(refuse=False, verify=True),
        door_path=str(tmp_path / "door"),
        gpugen_facts_out=str(tmp_path / "facts"),
        gpugen_cluster="lab",
    )
    assert told.code == 0, told.output
    found = json.loads((tmp_path / "facts" / "localhost.json").read_text())
    schema = json.loads((ROOT / "schemas" / "host.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)
    assert found["cluster"] == "lab"
    assert found["roles"]["door"]["done"] == ["DOR-02: the door is ''"]
    assert found["health"] == {"ok": True, "problems": []}
    assert found["roles"]["door"]["expected"]["door_text"] == "open"


@pytest.mark.parametrize(
    ("options", "is_read"),
    [
        (("--tags", "preflight"), True),
        (("--tags", "door,other"), True),
        (("--tags", "other"), False),
        (("--skip-tags", "door"), False),
        (("--skip-tags", "other"), True),
    ],
)
def test_roles_by_tags(collections: Path, options: tuple[str, ...], is_read: bool) -> None:
    told = play(collections, decide(by_tags=True), options=options, door_path="/nowhere")
    assert told.code == 0, told.output
    assert bool(told.shown) == is_read
