"""The Ansible half: inventory, variables, short playbooks; the collection where it is its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from gpugen import assets
from gpugen.hosts import collection
from gpugen.hosts.collection import SCHEDULER
from gpugen.hosts.names import CONTROL_PLANE
from gpugen.load import reader
from gpugen.model.assembly import Assembly
from gpugen.model.half import SHARED, Form, HostHalf
from gpugen.model.spec import ClusterSpec, NodePool
from gpugen.model.tree import Tree
from gpugen.render import connections, inventory
from gpugen.render.hosts_readme import readme
from gpugen.render.inventory import group, is_large
from gpugen.render.yaml_files import Mark, as_data, variables_file, yaml_file
from gpugen.text import templates

FOLDER = "ansible"
# A dead connection is detected after 15 s x 8, end to end through jump hosts; a task that hangs on
# a reachable host, after an hour. Without both Ansible would wait forever.
SSH_OPTIONS = (
    *("ControlMaster=auto", "ControlPersist=300s"),
    *("ServerAliveInterval=15", "ServerAliveCountMax=8"),
)
REQUIREMENTS = f"{FOLDER}/requirements.yml"
COLLECTIONS = {  # the folder that ansible.cfg names, relative to itself
    Form.SHARED: f"../../{collection.SHARED}",
    Form.VENDORED: "collections",
    Form.EXTERNAL: "",
}


class AnsibleSettings(NamedTuple):
    """What the template of ansible.cfg receives."""

    source: str
    collections: str
    ssh_options: tuple[str, ...]


def render_hosts(
    spec: ClusterSpec, assembly: Assembly, tree: Tree, half: HostHalf = SHARED
) -> None:
    """Add everything below ansible/; the keys of repositories come from the pipeline."""
    tree.add(f"{FOLDER}/ansible.cfg", settings(spec, half.form))
    tree.add(f"{FOLDER}/README.md", readme(spec, assembly.roles))
    for name, entry in playbooks(spec, assembly.roles).items():
        tree.add(f"{FOLDER}/{name}.yml", yaml_file(spec, [entry]))
    for name, text, pool in inventory.files(spec, assembly.expressions):
        tree.add(f"{FOLDER}/inventory/{name}", text, pool)
    owners = {group(pool): pool.name for pool in spec.pools} | {CONTROL_PLANE: SCHEDULER}
    for name, variables in group_variables(spec, assembly).items():
        path = f"{FOLDER}/inventory/group_vars/{name}.yml"
        tree.add(path, variables_file(spec, variables), owners.get(name, ""))
    tree.share(assembly.roles)
    if half.form is Form.EXTERNAL:
        required = {"name": "gpugen.hosts", "version": half.version}
        tree.add(REQUIREMENTS, yaml_file(spec, {"collections": [required]}))
    if half.form is Form.VENDORED:
        top = f"{FOLDER}/{COLLECTIONS[half.form]}/{collection.NAMESPACE}"
        for path, content in collection.files():
            tree.add(f"{top}/{path}", content, collection.OWNER)


def playbooks(spec: ClusterSpec, roles: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the playbooks by name, each an entry that imports one of the collection.

    The sizes of batches are variables of the playbook, as Ansible needs them before it knows hosts.
    """
    batches = {"gpugen_batches": as_data(spec.rollout.serial)}
    found = {
        "site": _imported("site", f"Apply the spec to {spec.name}", batches),
        "verify": _imported("verify", f"Verify {spec.name}"),
        "remove": _imported("remove", f"Remove gpugen's changes from {spec.name}", batches),
    }
    if SCHEDULER in roles and spec.access.kubeconfig_context:
        name = f"Before an upgrade of the control plane of {spec.name}"
        found["before-upgrade"] = _imported("before_upgrade", name)
    return found


def _imported(
    playbook: str, name: str, variables: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    entry = {"name": name, "ansible.builtin.import_playbook": f"gpugen.hosts.{playbook}"}
    return {**entry, "vars": variables} if variables else entry


def settings(spec: ClusterSpec, form: Form = Form.SHARED) -> str:
    """Return what ansible.cfg says."""
    values = AnsibleSettings(spec.source, COLLECTIONS[form], SSH_OPTIONS)
    return templates.render("render/ansible.cfg.j2", values)


def group_variables(spec: ClusterSpec, assembly: Assembly) -> dict[str, dict[str, Any]]:
    """Return the variables of all hosts, pools and the control plane, by file name."""
    common: dict[str, Any] = {"gpugen_cluster": spec.name}
    if spec.description:
        common["gpugen_cluster_description"] = spec.description
    common["gpugen_contract"] = collection.contract()
    common["gpugen_roles"] = _by_role_in_use(assembly.roles)
    common |= connections.of_all(spec.access.ssh)
    common["gpugen_allow_disruption"] = spec.rollout.allow_disruption
    files = {"all": {**common, **_by_role(assembly.cluster_variables)}}
    for pool in spec.pools:
        own = connections.of_pool(pool, spec.access.ssh)
        files[group(pool)] = {**own, **_pool_variables(pool, assembly)}
    if assembly.control_plane_variables:
        files[CONTROL_PLANE] = dict(assembly.control_plane_variables)
    return _without_defaults(files, assembly.roles) if is_large(spec) else files


def _by_role_in_use(roles: Iterable[str]) -> list[str]:
    """Return the roles in use, each behind its mark: branches whose pools bring two may merge."""
    used = frozenset(roles)
    found: list[str] = []
    for role in collection.roles():
        found.append(Mark(role))
        found += [role] * (role in used)
    return found


def _by_role(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Sort variables by their roles, each behind its mark: pools may bring a role, or change it."""
    found: dict[str, Any] = {}
    for role in collection.roles():
        own = {name: value for name, value in variables.items() if name.startswith(f"{role}_")}
        found |= {Mark(role): None, **own}
    return {name: value for name, value in variables.items() if name not in found} | found


def _without_defaults(
    files: dict[str, dict[str, Any]], roles: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Drop values that are role defaults: every variable costs Ansible time per host."""
    known = {name: value for role in roles for name, value in _defaults(role).items()}

    def is_default(name: str, value: Any) -> bool:
        return name in known and known[name] == json.dumps(value, sort_keys=True)

    common = {name: value for name, value in files["all"].items() if not is_default(name, value)}
    return {
        group: {n: v for n, v in own.items() if n in common or not is_default(n, v)}
        for group, own in files.items()
    }


@cache
def _defaults(role: str) -> dict[str, str]:
    """Return a role's defaults: variable -> value as JSON."""
    file = assets.roles() / role / "defaults" / "main.yml"
    stated = reader.data(file.read_text("utf-8")) if file.is_file() else {}
    return {name: json.dumps(value, sort_keys=True) for name, value in stated.items()}


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
