"""MIG by the hosts and DCGM before Ansible: variables against contracts, playbooks' syntax."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from gpugen import assets
from gpugen.assemble import assemble
from gpugen.model.tree import Tree
from gpugen.render.hosts import render_hosts
from support import ansible_yaml
from support.collection import beside
from support.specs import MIG_POOL, resolved

ROLES = ("nvidia_mig", "nvidia_dcgm")
ENTRIES = ("main", "preflight", "converge", "verify", "absent")
BY_HOST = {**MIG_POOL, "/pools/0/mig/manager": "host"}
SPECS: dict[str, dict[str, Any]] = {
    "both": {**BY_HOST, "/hostDefaults/dcgm": {"version": "4.5.3"}},
    "masked": {**MIG_POOL, "/hostDefaults/dcgm": {"mode": "masked"}},
    "k3s": {**MIG_POOL, "/kubernetes": {"version": "1.34", "distribution": "k3s"}},
}


@pytest.fixture(scope="module", params=SPECS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the rendered Ansible half of a spec."""
    tree = Tree()
    spec = resolved(SPECS[request.param])
    render_hosts(spec, assemble(spec), tree)
    root = tmp_path_factory.mktemp(request.param)
    for path, content in dict(tree).items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    beside(root)
    return root / "ansible"


def test_variables_meet_the_argument_specs(folder: Path) -> None:
    """GEN-06."""
    stated = ansible_yaml.read((folder / "inventory/group_vars/pool_a100.yml").read_text())
    for role in ROLES:
        own = {name: value for name, value in stated.items() if name.startswith(f"{role}_")}
        if not own:
            continue
        contract = yaml.safe_load((assets.roles() / f"{role}/meta/argument_specs.yml").read_text())
        options = contract["argument_specs"]["main"]["options"]
        assert set(own) <= set(options)
        assert ArgumentSpecValidator(options).validate(own).error_messages == []


@pytest.mark.parametrize("playbook", ["site.yml", "verify.yml", "remove.yml"])
def test_syntax(folder: Path, playbook: str) -> None:
    command = [sys.executable, "-m", "ansible", "playbook", "--syntax-check", playbook]
    environment = {
        **os.environ,
        "ANSIBLE_HOME": str(folder.parent / "home"),
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("role", ROLES)
def test_roles_have_all_entry_points(role: str) -> None:
    """GEN-06: each with its arguments."""
    home = assets.roles() / role
    contract = yaml.safe_load((home / "meta" / "argument_specs.yml").read_text())
    assert tuple(contract["argument_specs"]) == ENTRIES
    assert all((home / "tasks" / f"{entry}.yml").is_file() for entry in ENTRIES)
