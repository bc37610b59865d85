"""The inventory of a cluster: a file for what it has once, and one for the hosts of each pool.

Few hosts are written as YAML for readers. Many are written as JSON, one host per line: Ansible
reads that in about half the CPU seconds (tests/benchmarks/bench_hosts.py prints both).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gpugen.hosts.names import ALL_HOSTS, CONTROL_HOST, CONTROL_PLANE, pool_group
from gpugen.model import NOTHING
from gpugen.model.access import Ssh
from gpugen.model.assembly import Expression
from gpugen.model.spec import ClusterSpec, HostLine, NodePool
from gpugen.render import connections
from gpugen.render.yaml_files import variables_file

MOST_AS_YAML = 2_000  # lines; a range of hosts is one


CONTROL = {  # the control host: delegated tasks never use another connection
    "ansible_connection": Expression("local"),
    "ansible_python_interpreter": Expression("{{ ansible_playbook_python }}"),
    "ansible_become": False,
}


def group(pool: NodePool) -> str:
    """Return the inventory group of a pool."""
    return pool_group(pool.name)


def inventory(spec: ClusterSpec, expressions: Mapping[str, Expression] = NOTHING) -> dict[str, Any]:
    """Return what a cluster has once as data: the order of its pools, and the control plane.

    expressions: variables of all hosts that Ansible works out per host; group_vars are data alone.
    """
    children: dict[str, Any] = {
        ALL_HOSTS: {"children": {group(pool): {"hosts": {}} for pool in spec.pools}}
    }
    own = {line.pattern: _own(line, spec.access.ssh) for line in spec.control_plane.hosts}
    children[CONTROL_PLANE] = {"hosts": own}  # plays name the group where it is empty, too
    variables = {"vars": dict(expressions)} if expressions else {}
    hosts = {CONTROL_HOST: dict(CONTROL)}
    return {"all": {**variables, "hosts": hosts, "children": children}}


def of_pool(spec: ClusterSpec, pool: NodePool) -> dict[str, Any]:
    """Return the hosts of a pool as data; ranges stay ranges."""
    ssh = pool.ssh or spec.access.ssh
    hosts = {"hosts": {line.pattern: _own(line, ssh) for line in pool.hosts}}
    return {"all": {"children": {ALL_HOSTS: {"children": {group(pool): hosts}}}}}


def files(
    spec: ClusterSpec, expressions: Mapping[str, Expression] = NOTHING
) -> Iterator[tuple[str, str, str]]:
    """Yield the files of ``inventory/``: name, content, and the pool whose own file it is."""
    ending = "json" if is_large(spec) else "yml"
    yield f"hosts.{ending}", _text(spec, inventory(spec, expressions)), ""
    for pool in spec.pools:
        yield f"{group(pool)}.{ending}", _text(spec, of_pool(spec, pool)), pool.name


def _text(spec: ClusterSpec, data: dict[str, Any]) -> str:
    return _as_json(data) + "\n" if is_large(spec) else variables_file(spec, data)


def _as_json(value: object, indent: str = "", *, are_hosts: bool = False) -> str:
    """Write JSON with an entry per line; a host's variables are on its line."""
    if not isinstance(value, dict) or not value:
        return json.dumps(_tagged(value))
    deeper = f"{indent} "
    rows = (
        f"{deeper}{json.dumps(key)}: "
        + (
            json.dumps(_tagged(item))
            if are_hosts
            else _as_json(item, deeper, are_hosts=key == "hosts")
        )
        for key, item in value.items()
    )
    return "{\n" + ",\n".join(rows) + f"\n{indent}}}"


def _tagged(value: object) -> object:
    """Return a value whose strings are marked as ``!unsafe`` in JSON, except Expressions.

    Source: ansible-core 2.19, ansible/_internal/_json/_profiles/_legacy.py.
    """
    if isinstance(value, str):
        return str(value) if isinstance(value, Expression) else {"__ansible_unsafe": value}
    if isinstance(value, dict):
        return {key: _tagged(item) for key, item in value.items()}
    return [_tagged(item) for item in value] if isinstance(value, list | tuple) else value


def is_large(spec: ClusterSpec) -> bool:
    """Tell whether there are many lines."""
    lines = sum(len(pool.hosts) for pool in spec.pools) + len(spec.control_plane.hosts)
    return lines > MOST_AS_YAML


def _own(line: HostLine, wider: Ssh) -> dict[str, Any]:
    """Return a host's own variables. wider: the settings of its pool or cluster."""
    own: dict[str, Any] = connections.of_line(line, wider)
    if line.address:
        own["ansible_host"] = line.address
    if line.description:
        own["gpugen_host_description"] = line.description
    if line.node_name:
        own["gpu_node_name"] = line.node_name
    return own | dict(line.variables)
