"""Ansible before every example: inventory, syntax, argument specs, linter; nothing executes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from gpugen import assets, pipeline
from gpugen.assemble import assemble
from gpugen.hosts import ranges
from gpugen.model.spec import ClusterSpec
from gpugen.model.tree import Tree
from gpugen.render.hosts import group, render_hosts
from gpugen.workspace import Workspace
from support import ROOT
from support.collection import beside
from support.required import missing
from support.specs import resolved
from support.validators.tree import Rendered

pytestmark = pytest.mark.validated_by("ansible-core")

CLUSTERS = Workspace(ROOT).clusters()
CANARY = "canary"
HOSTILE = [
    "{{ lookup('pipe', 'touch canary') }}",
    "{{ lookup('ansible.builtin.pipe', 'touch canary') }}",
    "{% set x = lookup('pipe', 'touch canary') %}{{ x }}",
    "a {{ query('pipe', 'touch canary') | join }} b",
    "{{\nlookup('pipe', 'touch canary')\n}}",
    "{#\n#}{{ lookup('pipe', 'touch canary') }}",
    "$(touch canary)",
    "`touch canary`",
    "!unsafe x",
    "!vault |\n  $ANSIBLE_VAULT;1.1;AES256",
    "[1:3]",
    "on",
    "0o17",
    "12:30",
    "x: {y: z}",
    "- item",
    'quote " and \\ and \x1b[31m and \u202e',
    "'; touch canary; '",
]


def write(files: dict[str, bytes], folder: Path) -> Path:
    """Write the Ansible half of a tree; return its folder."""
    for path, content in files.items():
        if path.startswith("ansible/"):
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    beside(folder)
    return folder / "ansible"


def ansible(program: str, *arguments: str, cwd: Path) -> str:
    """Run one of Ansible's programs; return what it printed."""
    command = [sys.executable, "-m", "ansible", program, *arguments]
    environment = {
        **os.environ,
        "ANSIBLE_HOME": str(cwd.parent / "home"),
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=CLUSTERS)
def example(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ClusterSpec, Rendered, Path]:
    workspace = Workspace(ROOT)
    outcome = pipeline.run(workspace.spec_path(request.param), workspace)
    assert outcome.spec is not None
    rendered = Rendered(dict(pipeline.build(outcome)))
    return outcome.spec, rendered, write(rendered.files, tmp_path_factory.mktemp(request.param))


def test_inventory(example: tuple[ClusterSpec, Rendered, Path]) -> None:
    spec, tree, folder = example
    found = json.loads(ansible("inventory", "--list", cwd=folder), object_hook=_data)
    for pool in spec.pools:
        hosts = found[group(pool)]["hosts"]
        assert len(hosts) == sum(ranges.count(line.pattern) for line in pool.hosts)
        stated = {**tree.group_vars["all"], **tree.group_vars[group(pool)]}
        for host in hosts:
            assert stated.items() <= found["_meta"]["hostvars"][host].items()


def _data(own: dict[str, Any]) -> Any:
    """Return what ansible-inventory says of a string that is data, as the string."""
    return own.get("__ansible_unsafe", own) if len(own) == 1 else own


def test_syntax(example: tuple[ClusterSpec, Rendered, Path]) -> None:
    ansible("playbook", "--syntax-check", "site.yml", cwd=example[2])


def test_variables_meet_the_argument_specs(example: tuple[ClusterSpec, Rendered, Path]) -> None:
    """GEN-06: what is rendered has the types and choices that the roles state."""
    spec, tree, _ = example
    contracts = {
        path.parent.parent.name: yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in assets.roles().glob("*/meta/argument_specs.yml")
    }
    worked_out = tree.parsed("ansible/inventory/hosts.yml")["all"].get("vars", {})
    for pool in spec.pools:
        stated = {**worked_out, **tree.group_vars["all"], **tree.group_vars[group(pool)]}
        checked: set[str] = set()
        for role in stated["gpugen_roles"]:
            contract = contracts[role]
            own = {name: value for name, value in stated.items() if name.startswith(f"{role}_")}
            checked |= set(own)
            options = contract["argument_specs"]["main"]["options"]
            assert set(own) <= set(options)
            assert ArgumentSpecValidator(options).validate(own).error_messages == []
        rest = {name for name in stated if not name.startswith(("gpugen_", "ansible_"))}
        assert rest == checked


def linter() -> Path:
    """Return ansible-lint beside this Python or on the path; skip or fail without it."""
    beside = Path(sys.executable).with_name("ansible-lint")
    found = str(beside) if beside.is_file() else shutil.which("ansible-lint")
    if found is None:
        message = "ansible-lint is missing; 'pip install -e .[test]' brings it"
        missing(message)
    return Path(found)


@pytest.mark.validated_by("ansible-lint")
@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["lab", "fleet-edge"])
def test_lint(cluster: str, tmp_path: Path) -> None:
    """The production profile, on plays, variables and roles as they lie in the output."""
    program = linter()
    workspace = Workspace(ROOT)
    outcome = pipeline.run(workspace.spec_path(cluster), workspace)
    folder = write(dict(pipeline.build(outcome)), tmp_path)
    done = subprocess.run(
        [program, "--profile", "production", "--offline", "--nocolor"],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Profile 'production' was required, and it passed" in done.stderr


def test_nothing_executes(tmp_path: Path) -> None:
    """Hostile text past the schema's guard: Ansible prints it, and runs none of it."""
    hosts: list[dict[str, Any]] = [
        {"name": f"h{n}.lab.example", "description": text, "variables": {"rack": text}}
        for n, text in enumerate(HOSTILE)
    ]
    changes = {"/pools/0/hosts": hosts, "/description": HOSTILE[0]}
    changes["/pools/0/description"] = HOSTILE[2]
    spec = resolved(changes)
    tree = Tree()
    render_hosts(spec, assemble(spec), tree)
    folder = write(dict(tree), tmp_path)
    names = ["rack", "gpugen_host_description", "gpugen_pool_description"]
    printed = ansible(
        *("adhoc", "gpu", "--connection", "local", "--one-line"),
        *("--module-name", "ansible.builtin.debug"),
        *("--args", f"msg={{{{ [{', '.join(names)}] | to_json }}}}"),
        cwd=folder,
    )
    answers = {
        line.split(" | ")[0]: json.loads(line.partition("=>")[2])["msg"]
        for line in printed.splitlines()
    }
    for n, text in enumerate(HOSTILE):
        shown = answers[f"h{n}.lab.example"]
        shown = json.loads(shown) if isinstance(shown, str) else shown
        assert shown == [text, text, HOSTILE[2]]
    assert not list(tmp_path.rglob(CANARY))
    assert not Path(CANARY).exists()
