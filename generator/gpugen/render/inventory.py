"""The inventory of a cluster: pools, hosts, and what is a host's own.

Few hosts are written as YAML for readers. Many are written as JSON, one host per line: Ansible
reads that in about half the CPU seconds (tests/benchmarks/bench_hosts.py prints both).
"""

from __future__ import annotations

import json
from typing import Any

from gpugen.inventory_names import ALL_HOSTS, CONTROL_HOST, CONTROL_PLANE, pool_group
from gpugen.model.access import Ssh
from gpugen.model.spec import ClusterSpec, HostLine, NodePool
from gpugen.render import connections
from gpugen.render.yaml_text import Unsafe, yaml_file

MOST_AS_YAML = 2_000  # lines; a range of hosts is one
TEMPLATE_MARKS = ("{{", "{%", "{#")


CONTROL = {  # the machine that the plays run on: delegated tasks never take another way
    "ansible_connection": "local",
    "ansible_python_interpreter": "{{ ansible_playbook_python }}",
    "ansible_become": False,
}


def group(pool: NodePool) -> str:
    """Return the inventory group of a pool."""
    return pool_group(pool.name)


def inventory(spec: ClusterSpec) -> dict[str, Any]:
    """Return the inventory as data; ranges stay ranges."""
    pools = {
        group(pool): {
            "hosts": {line.pattern: _own(line, pool.ssh or spec.access.ssh) for line in pool.hosts}
        }
        for pool in spec.pools
    }
    children: dict[str, Any] = {ALL_HOSTS: {"children": pools}}
    if spec.control_plane.hosts:
        lines = spec.control_plane.hosts
        own = {line.pattern: _own(line, spec.access.ssh) for line in lines}
        children[CONTROL_PLANE] = {"hosts": own}
    return {"all": {"hosts": {CONTROL_HOST: dict(CONTROL)}, "children": children}}


def file_name(spec: ClusterSpec) -> str:
    """Return the name of the inventory's file below ``inventory/``."""
    return "hosts.json" if is_large(spec) else "hosts.yml"


def text(spec: ClusterSpec) -> str:
    """Return the content of the inventory's file."""
    if not is_large(spec):
        return yaml_file(spec, inventory(spec))
    return _as_json(inventory(spec)) + "\n"


def inert(value: Any) -> Any:
    """Return a value, marked as data if it is text that Ansible could take for a template.

    Ansible runs lookups that it finds in variables, so this is a security boundary; the schema
    refuses such text before.
    """
    if isinstance(value, str) and any(mark in value for mark in TEMPLATE_MARKS):
        return Unsafe(value)
    return value


def _as_json(value: object, indent: str = "", *, are_hosts: bool = False) -> str:
    """Write JSON with an entry per line; the variables of a host stand beside its name."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value)
    deeper = f"{indent} "
    rows = (
        f"{deeper}{json.dumps(key)}: "
        + (json.dumps(item) if are_hosts else _as_json(item, deeper, are_hosts=key == "hosts"))
        for key, item in value.items()
    )
    return "{\n" + ",\n".join(rows) + f"\n{indent}}}"


def is_large(spec: ClusterSpec) -> bool:
    """Tell whether there are many lines, of which none holds text that only YAML can mark."""
    lines = [*(line for pool in spec.pools for line in pool.hosts), *spec.control_plane.hosts]
    if len(lines) <= MOST_AS_YAML:
        return False
    return not any(
        isinstance(value, Unsafe)
        for line in lines
        for value in _own(line, spec.access.ssh).values()
    )


def _own(line: HostLine, wider: Ssh) -> dict[str, Any]:
    """Return the variables that only this host has. wider: the settings of its pool or cluster."""
    own: dict[str, Any] = connections.of_line(line, wider)
    if line.address:
        own["ansible_host"] = line.address
    if line.description:
        own["gpugen_host_description"] = inert(line.description)
    if line.node_name:
        own["gpu_node_name"] = line.node_name
    for name, value in line.variables.items():
        own[name] = inert(value)
    return own
