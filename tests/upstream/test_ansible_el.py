"""Clusters of the Enterprise Linux family, rendered, validated by Ansible itself."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from gpugen.assemble import assemble
from gpugen.model.tree import Tree
from gpugen.render.hosts import render_hosts
from support import ROOT, ansible_yaml
from support.specs import resolved

pytestmark = pytest.mark.validated_by("ansible-core")

ROLES = ROOT / "roles"
SYSTEMS = ["rhel-9", "rhel-10", "rocky-9", "rocky-10", "alma-9", "alma-10", "amzn-2023"]
REPOSITORY = {
    "baseURL": "https://mirror.lab.example/cuda",
    "keyFile": "keys/cuda.asc",
    "fingerprint": "610C7B14E068A878070DA4E99CD0A493D42D0685",
}


def rendered(system: str) -> dict[str, Any]:
    """Return the variables of the one pool as they are written."""
    changes = {"/hostDefaults/os": system, "/hostDefaults/repositories": REPOSITORY}
    spec = resolved(changes)
    tree = Tree()
    render_hosts(spec, assemble(spec), tree)
    found: dict[str, Any] = ansible_yaml.read(tree["ansible/inventory/group_vars/pool_a100.yml"])
    return found


@pytest.mark.parametrize("system", SYSTEMS)
def test_variables_meet_the_argument_specs_gen_06(system: str) -> None:
    variables = rendered(system)
    for role in ("gpu_prerequisites", "nvidia_driver", "nvidia_container_toolkit"):
        contract = yaml.safe_load((ROLES / role / "meta/argument_specs.yml").read_text())
        options = contract["argument_specs"]["main"]["options"]
        own = {name: value for name, value in variables.items() if name.startswith(f"{role}_")}
        assert own.keys() <= options.keys()
        assert ArgumentSpecValidator(options).validate(own).error_messages == []


@pytest.mark.parametrize(("system", "folder"), [("rocky-9", "rhel9"), ("amzn-2023", "amzn2023")])
def test_the_repository_is_the_vendors_folder_for_the_system_pre_07(
    system: str, folder: str
) -> None:
    (repository,) = rendered(system)["gpu_prerequisites_repositories"]
    assert repository["uri"] == f"https://mirror.lab.example/cuda/{folder}/x86_64/"
    assert repository["fingerprint"] == REPOSITORY["fingerprint"]
