"""The Ansible half of the minimal spec with values set at pointers, read back as data."""

from __future__ import annotations

import json
from typing import Any

from gpugen.assemble import assemble
from gpugen.model.tree import Tree
from gpugen.render.hosts import render_hosts
from support import ansible_yaml
from support.ansible_yaml import Data
from support.specs import resolved

VARIABLES = "ansible/inventory/group_vars"


def rendered(changes: dict[str, Any] | None = None) -> Tree:
    """Render the hosts' half alone."""
    spec = resolved(changes)
    tree = Tree()
    render_hosts(spec, assemble(spec), tree)
    return tree


def loaded(tree: Tree, path: str) -> Any:
    """Read a file; what Ansible must take for data is ``Data``."""
    if path.endswith(".json"):
        return json.loads(tree[path], object_hook=_json_data)
    return ansible_yaml.marked(tree[path])


def _json_data(own: dict[str, Any]) -> Any:
    return Data(own["__ansible_unsafe"]) if "__ansible_unsafe" in own else own


def variables(changes: dict[str, Any] | None = None, group: str = "pool_a100") -> dict[str, Any]:
    """Return the variables of a group."""
    found: dict[str, Any] = loaded(rendered(changes), f"{VARIABLES}/{group}.yml")
    return found


def roles_of(tree: Tree) -> list[str]:
    """List the roles in use."""
    return [str(role) for role in loaded(tree, f"{VARIABLES}/all.yml")["gpugen_roles"]]
