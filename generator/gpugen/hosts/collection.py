"""The collection gpugen.hosts: its files, the contract that it serves, and its roles in order."""

from __future__ import annotations

import re
from functools import cache

from gpugen import assets

NAMESPACE = "ansible_collections/gpugen/hosts"  # where Ansible looks for it, below a folder
SHARED = "_hosts"  # the folder of out/ that has it once; names of clusters begin otherwise
OWNER = "gpugen_hosts"  # of its files in an index
SCHEDULER = "kube_scheduler"  # the role that works on the control plane
_PARTS = ("galaxy.yml", "meta", "playbooks", "plugins", "roles")
_ROLE = re.compile(r"name: gpugen\.hosts\.([a-z_]+)\n +tasks_from: converge$", re.MULTILINE)
_SERVED = re.compile(r"^gpugen_contract_served: ([0-9]+)$", re.MULTILINE)


@cache
def files() -> tuple[tuple[str, bytes], ...]:
    """Return the collection: relative paths and bytes, sorted; read once per run."""
    top = assets.collection()
    found = (
        path
        for part in _PARTS
        for path in ([top / part] if (top / part).is_file() else (top / part).rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    )
    return tuple(sorted((path.relative_to(top).as_posix(), path.read_bytes()) for path in found))


@cache
def roles() -> tuple[str, ...]:
    """Return the names of all roles in the order in which site.yml runs them."""
    return tuple(dict.fromkeys(_ROLE.findall(_text("playbooks/site.yml"))))


@cache
def contract() -> int:
    """Return the number of the contract between a cluster's variables and the collection."""
    found = _SERVED.search(_text("playbooks/vars/contract.yml"))
    assert found is not None
    return int(found[1])


@cache
def does(role: str) -> str:
    """Return what a role does, in a line."""
    text = _text(f"roles/{role}/meta/argument_specs.yml")
    return text.partition("short_description: ")[2].partition("\n")[0]


def _text(path: str) -> str:
    return (assets.collection() / path).read_text("utf-8")
