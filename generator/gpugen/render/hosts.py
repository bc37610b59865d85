"""The Ansible half: inventory, variables, playbook, and copies of the roles in use."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from gpugen import assets
from gpugen.hosts.names import CONTROL_PLANE
from gpugen.model.assembly import Assembly
from gpugen.model.spec import ClusterSpec, NodePool
from gpugen.model.tree import Tree
from gpugen.render import connections, inventory, role_files
from gpugen.render.hosts_readme import readme
from gpugen.render.inventory import group, is_large
from gpugen.render.other_plays import before_upgrade, remove, verify
from gpugen.render.play_parts import settings_of
from gpugen.render.playbook import site
from gpugen.render.role_order import ORDER, SCHEDULER, in_order
from gpugen.render.yaml_files import Mark, variables_file, yaml_file
from gpugen.text import templates

FOLDER = "ansible"
# A dead connection is detected after 15 s x 8, end to end through jump hosts; a task that hangs on
# a reachable host, after an hour. Without both Ansible would wait forever.
SSH_OPTIONS = (
    *("ControlMaster=auto", "ControlPersist=300s"),
    *("ServerAliveInterval=15", "ServerAliveCountMax=8"),
)
PLAYBOOKS = {
    "site": site,
    "verify": verify,
    "remove": remove,
    "before-upgrade": before_upgrade,
}


class AnsibleSettings(NamedTuple):
    """What the template of ansible.cfg receives."""

    source: str
    ssh_options: tuple[str, ...]


def render_hosts(spec: ClusterSpec, assembly: Assembly, tree: Tree) -> None:
    """Add everything below ansible/; the keys of repositories come from the pipeline."""
    roles = in_order(assembly.roles)
    tree.add(f"{FOLDER}/ansible.cfg", settings(spec))
    tree.add(f"{FOLDER}/README.md", readme(spec, roles))
    for name, plays in PLAYBOOKS.items():
        if found := plays(settings_of(spec), assembly.roles):
            tree.add(f"{FOLDER}/{name}.yml", yaml_file(spec, found))
    for name, text, pool in inventory.files(spec, assembly.expressions):
        tree.add(f"{FOLDER}/inventory/{name}", text, pool)
    owners = {group(pool): pool.name for pool in spec.pools} | {CONTROL_PLANE: SCHEDULER}
    for name, variables in group_variables(spec, assembly).items():
        path = f"{FOLDER}/inventory/group_vars/{name}.yml"
        tree.add(path, variables_file(spec, variables), owners.get(name, ""))
    for role in roles:
        for path, content in _role_files(role):
            tree.add(f"{FOLDER}/roles/{role}/{path}", content, role)


def settings(spec: ClusterSpec) -> str:
    """Return what ansible.cfg says."""
    return templates.render("render/ansible.cfg.j2", AnsibleSettings(spec.source, SSH_OPTIONS))


def group_variables(spec: ClusterSpec, assembly: Assembly) -> dict[str, dict[str, Any]]:
    """Return the variables of all hosts, pools and the control plane, by file name."""
    common: dict[str, Any] = {"gpugen_cluster": spec.name}
    if spec.description:
        common["gpugen_cluster_description"] = spec.description
    common |= connections.of_all(spec.access.ssh)
    common["gpugen_allow_disruption"] = spec.rollout.allow_disruption
    files = {"all": {**common, **_by_role(assembly.cluster_variables)}}
    for pool in spec.pools:
        own = connections.of_pool(pool, spec.access.ssh)
        files[group(pool)] = {**own, **_pool_variables(pool, assembly)}
    if assembly.control_plane_variables:
        files[CONTROL_PLANE] = dict(assembly.control_plane_variables)
    return _without_defaults(files, assembly.roles) if is_large(spec) else files


def _by_role(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Sort variables by their roles, each behind its mark: pools may bring a role, or change it."""
    found: dict[str, Any] = {}
    for role in ORDER:
        own = {name: value for name, value in variables.items() if name.startswith(f"{role}_")}
        found |= {Mark(role): None, **own}
    return {name: value for name, value in variables.items() if name not in found} | found


def _without_defaults(
    files: dict[str, dict[str, Any]], roles: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Drop values that are role defaults: every variable costs Ansible time per host."""
    known = {name: value for role in roles for name, value in role_files.defaults(role).items()}

    def is_default(name: str, value: Any) -> bool:
        return name in known and known[name] == json.dumps(value, sort_keys=True)

    common = {name: value for name, value in files["all"].items() if not is_default(name, value)}
    return {
        group: {n: v for n, v in own.items() if n in common or not is_default(n, v)}
        for group, own in files.items()
    }


def _pool_variables(pool: NodePool, assembly: Assembly) -> dict[str, Any]:
    own = {"gpugen_pool": pool.name}
    if pool.description:
        own["gpugen_pool_description"] = pool.description
    if "gpu_node" not in assembly.roles:
        return {**own, **assembly.host_variables[pool.name]}
    labels = {
        "gpu_node_labels": assembly.node_labels[pool.name],
        "gpu_node_initial_labels": assembly.initial_labels[pool.name],
    }
    return {**own, **dict(sorted({**assembly.host_variables[pool.name], **labels}.items()))}


@cache
def _role_files(role: str) -> tuple[tuple[str, bytes], ...]:
    """Read a role: relative paths and bytes, sorted."""
    folder = assets.roles() / role
    return tuple(
        (path.relative_to(folder).as_posix(), path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    )
