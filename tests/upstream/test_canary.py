"""No text of a spec, a layer or a catalogue row runs: Ansible reads all of it, and no canary fires.

The cases are generated: a text stands at every place of the schemas whose rule takes it, and, past
the schemas, in place of every string that reaches one of the writers. The same reader finds the
canary wherever one writer leaves the mark of data out.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpugen import pipeline
from gpugen.assemble import assemble
from gpugen.catalog import reading, shape
from gpugen.model.assembly import Expression
from gpugen.model.finding import is_fatal
from gpugen.render import hosts, inventory, render
from gpugen.render.yaml_files import yaml_file
from gpugen.validate.combined import combined_schema
from gpugen.workspace import Workspace
from support import TESTS
from support.leaves import ANY, KEY, Leaf, leaves
from support.rich import RICH, changed, put
from support.specs import resolved

pytestmark = [pytest.mark.validated_by("ansible-core"), pytest.mark.slow]

READER = TESTS / "support" / "lab" / "canary_reader.py"
LOOK = "lookup('ansible.builtin.pipe', 'touch CANARY')"
HEAD = "#jinja2: "
PAYLOADS = (
    f"{{{{ {LOOK} }}}}",
    f"a {{{{ {LOOK} }}}} b",
    f"{{{{ {LOOK} }}}}\n",
    f"{{% set x = {LOOK} %}}{{{{ x }}}}",
    f"{{#\n#}}{{{{ {LOOK} }}}}",
    f"!unsafe {{{{ {LOOK} }}}}",
    f"{HEAD}variable_start_string:'[[', variable_end_string:']]'\n[[ {LOOK} ]]",
    f"{HEAD}variable_start_string:'[[', variable_end_string:']]'\n[[ {LOOK} ]]\n",
    f"{HEAD}block_start_string:'<%', block_end_string:'%>'\n<% if {LOOK} %>x<% endif %>",
    f"{HEAD}line_statement_prefix:'@'\n@ if {LOOK}\nx\n@ endif",
    "a $(touch CANARY)",
    "`touch CANARY`",
    "a; touch CANARY",
    "-oProxyCommand=touch CANARY",
    "a\n  <<: *x\n- !!python/object/apply:os.system ['touch CANARY']",
    '{"__ansible_unsafe": "x"}',
)
HEADED = 6  # a payload with a header of Jinja
SSH = {
    "user": "ops",
    "port": 2222,
    "interpreter": "/usr/bin/python3.11",
    "proxyJump": ["ops@bastion.example:22"],
}
SETTING = {  # so that every kind of place is there
    "/access/ssh": SSH,
    "/controlPlane": {"hosts": [{"name": "cp-1.example"}]},
    "/pools/0/hosts": [{"name": "mig-01.example", "variables": {"rack": "b7"}}],
    "/pools/1/hosts": ["sliced-1.example"],
    "/pools/2/hosts": ["clients-1.example"],
    "/pools/3/hosts": ["whole-1.example"],
    "/kubernetes/distribution": "k3s",
}
ROWS = {
    "gpus": "l4",
    "drivers": "580",
    "operatingSystems": "ubuntu-24.04",
    "distributions": "k3s",
    "releases": "2026.11",
    "migGeometries": "a100-40gb",
}
SILENT = (  # of ssh -G: what would start a program on the control host
    *("proxycommand", "localcommand", "knownhostscommand", "remotecommand", "pkcs11provider"),
    "securitykeyprovider",
)


def canaried(text: str, folder: Path, name: object) -> str:
    """Return a payload that leaves a file of a name behind if somebody runs it."""
    return text.replace("CANARY", str(folder / f"canary-{name}"))


def fired(folder: Path) -> list[str]:
    """List the canaries that were found dead, by name."""
    return sorted(path.name for path in folder.glob("canary-*"))


def write(tree: Any, folder: Path) -> Path:
    """Write the Ansible half of a tree."""
    for path, content in dict(tree).items():
        if path.startswith("ansible/"):
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    return folder / "ansible"


def read(folders: list[Path], cwd: Path, *, roles: int) -> dict[str, Any]:
    """Have Ansible read the folders in one process; one of them with all that the roles have."""
    others = [str(folder) for folder in folders if folder is not folders[roles]]
    done = subprocess.run(
        [sys.executable, READER, *others, "--roles", str(folders[roles])],
        cwd=cwd,
        env={**os.environ, "ANSIBLE_HOME": str(cwd / "home"), "ANSIBLE_NOCOLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def taking(root: dict[str, Any], text: str) -> Iterator[Leaf]:
    """Yield the places whose rule takes a text; the name of a place is none."""
    for leaf in leaves(root):
        if leaf.steps[-1] != KEY and leaf.takes(text):
            yield leaf


def pointer(leaf: Leaf, base: Any) -> tuple[str, ...] | None:
    """Return where a leaf is in a document, or nothing where its surroundings are not there."""
    steps: list[str] = []
    at = base
    for step in leaf.steps[:-1]:
        own = "0" if step == "[]" else next(iter(at), "own") if step == ANY else step
        steps.append(own)
        at = at[0] if isinstance(at, list) and at else at.get(own) if isinstance(at, dict) else None
        if at is None:
            return None
    last = leaf.steps[-1]
    own = "0" if last == "[]" else next(iter(at), "own") if last == ANY else last
    return (*steps, own) if isinstance(at, dict | list) else None


def a_spec(text: str) -> tuple[dict[str, Any], int]:
    """Return the rich spec with a text at every place that takes it, and at how many."""
    base = changed(SETTING)
    for name in ("dcgm-exporter", "device-plugin", "gpu-feature-discovery", "mig-manager"):
        base["components"].setdefault(name, {})["annotations"] = {"own.example/note": "x"}
    count = 0
    for leaf in taking(combined_schema(), text):
        place = pointer(leaf, base)
        if place is not None and leaf.steps[0] not in ("kubernetes", "hostDefaults"):
            put(base, place, text)
            count += 1
    return base, count


def rows(text: str) -> dict[str, Any]:
    """Return rows of ours, as a repository's own, with a text at every place that takes it."""
    own: dict[str, Any] = {
        section: {name: {**copy.deepcopy(reading.shipped(section, name) or {}), "override": True}}
        for section, name in ROWS.items()
    }
    for leaf in taking(shape.schema(), text):
        place = pointer(leaf, own)
        if place is not None and leaf.steps[2:] not in (("kubectl",), ("kubeconfig",)):
            put(own, place, text)
    own["distributions"]["k3s"]["scheduler"]["kubeconfig"] = "/etc/own/scheduler.conf"
    return own


def repository(folder: Path, text: str) -> tuple[Workspace, int]:
    """Write a repository with a text at every place that takes it; and how many of a spec do."""
    spec, count = a_spec(text)
    layer = {"apiVersion": "gpugen/v1", "kind": "Layer", "components": spec.pop("components")}
    files = {
        "inventories/rich/cluster.yaml": {**spec, "extends": ["../_layers/own.yaml"]},
        "inventories/_layers/own.yaml": layer,
        "catalog/own.yaml": rows(text),
    }
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return Workspace(folder), count


def test_what_the_schemas_take_runs_nowhere(tmp_path: Path) -> None:
    folders = []
    for number, payload in enumerate(PAYLOADS):
        home = tmp_path / f"repository-{number}"
        workspace, count = repository(home, canaried(payload, tmp_path, number))
        assert count >= 9 or number != HEADED
        assert not is_fatal(workspace.catalog.findings()), workspace.catalog.findings()
        outcome = pipeline.run(workspace.spec_path("rich"), workspace)
        assert not is_fatal(outcome.findings), (payload, outcome.findings)
        folders.append(write(pipeline.build(outcome), tmp_path / f"tree-{number}"))
    found = read(folders, tmp_path, roles=HEADED)
    for folder in folders:
        answer = found[str(folder)]
        assert answer["hosts"] == 6
        assert answer["workedOut"] > (800 if folder is folders[HEADED] else 400)
        assert len(answer["lines"]) == 5
    lines = {tuple(line) for answer in found.values() for line in answer["lines"]}
    assert lines
    for line in lines:
        assert not [word for word in ssh_settings(line, tmp_path) if word in SILENT], line
    assert fired(tmp_path) == []


def ssh_settings(line: tuple[str, ...], cwd: Path) -> list[str]:
    """Return the settings that OpenSSH takes from a command line, by name."""
    done = subprocess.run(
        [line[0], "-G", "-F", "none", *line[1:]],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (line, done.stderr)
    stated = (row.partition(" ") for row in done.stdout.splitlines())
    return [name for name, _, value in stated if value not in ("none", "internal")]


class Planter:
    """Puts a payload in place of every string; each has a canary of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def __call__(self, value: Any) -> Any:
        if isinstance(value, Expression):
            return value
        if isinstance(value, str):
            self.count += 1
            payload = PAYLOADS[self.count % len(PAYLOADS)]
            return canaried(payload, self.folder, self.count)
        if isinstance(value, dict):
            return {key: self(item) for key, item in value.items()}
        return [self(item) for item in value] if isinstance(value, list | tuple) else value


def raw(spec: Any, variables: Any) -> str:
    """Write variables as they are."""
    return yaml_file(spec, variables)


Patch = tuple[Any, str, Callable[..., Any]]
WRITERS: dict[str, list[Patch]] = {
    "none as YAML": [],
    "none as JSON": [(inventory, "MOST_AS_YAML", lambda: 0)],
    "group_vars": [(hosts, "variables_file", lambda: raw)],
    "inventory as YAML": [(inventory, "variables_file", lambda: raw)],
    "inventory as JSON": [
        (inventory, "MOST_AS_YAML", lambda: 0),
        (inventory, "_tagged", lambda: lambda value: value),
    ],
    "sizes of batches": [(hosts, "as_data", lambda: list)],
}


def planted(folder: Path, patches: list[Patch]) -> Any:
    """Render the rich spec with payloads for strings, one writer perhaps at fault."""
    plant = Planter(folder)
    spec = resolved_rich()
    with pytest.MonkeyPatch.context() as patch:
        variables, own = hosts.group_variables, inventory._own
        patch.setattr(hosts, "group_variables", lambda *args: plant(variables(*args)))
        patch.setattr(inventory, "_own", lambda *args: plant({**own(*args), "note": "x"}))
        spec = spec._replace(rollout=spec.rollout._replace(serial=(plant("10%"),)))
        for module, name, value in patches:
            patch.setattr(module, name, value())
        return render(spec, assemble(spec))


def resolved_rich() -> Any:
    """Return the rich spec, resolved, with a host for every group."""
    everything = {f"/{key}": value for key, value in RICH.items()}
    return resolved({**everything, **SETTING})


def test_a_writer_that_leaves_the_mark_out_is_found_and_no_other_runs_anything(
    tmp_path: Path,
) -> None:
    """Past the schemas: every string of every variable is a payload."""
    folders = {}
    for name, patches in WRITERS.items():
        home = tmp_path / name.replace(" ", "-")
        home.mkdir()
        folders[name] = write(planted(home, patches), home)
    read(list(folders.values()), tmp_path, roles=0)
    found = {name: fired(folder.parent) for name, folder in folders.items()}
    assert found.pop("none as YAML") == []
    assert found.pop("none as JSON") == []
    assert {name for name, canaries in found.items() if canaries} == set(found)
