"""Parts of plays as data: a play, a role's entry point, a claim; and the order of the roles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from gpugen.model.spec import ClusterSpec

Task: TypeAlias = dict[str, Any]

ALL_HOSTS = "gpu"  # group of all pools
CONTROL_PLANE = "control_plane"  # group of the cluster's control-plane nodes
FACTS = ["!all", "!min", "distribution", "kernel", "pkg_mgr", "python", "service_mgr"]
NODE, DRIVER, SCHEDULER = "gpu_node", "nvidia_driver", "kube_scheduler"
ORDER = (
    *("gpu_prerequisites", DRIVER, "nvidia_container_toolkit", "nvidia_mig", "nvidia_dcgm"),
    *("cuda_toolkit", "gpu_tuning", NODE, SCHEDULER),
)
REASONS = "{{ gpugen_disruption | default({}) | dict2items | map(attribute='value') | flatten }}"
WORD = "{{ (gpugen_allow_disruption | bool) and 'disruptive' not in ansible_skip_tags }}"
HERE = "{{ lookup('ansible.builtin.file', '/etc/machine-id', errors='ignore') }}"
VARIABLES = {"gpugen_reasons": REASONS, "gpugen_may_interrupt": WORD, "gpugen_here": HERE}


def in_order(roles: Iterable[str]) -> list[str]:
    """Sort roles as a host runs them."""
    return sorted(roles, key=ORDER.index)


def play(
    spec: ClusterSpec,
    name: str,
    tasks: list[Task],
    *,
    hosts: str = ALL_HOSTS,
    facts: bool = False,
    rolls: bool = False,
) -> dict[str, Any]:
    """Return a play. rolls: batch by batch, stopped by the first failure."""
    serial = f"{{{{ gpugen_serial | default({list(spec.rollout.serial)}, true) }}}}"
    return {
        "name": name,
        "hosts": hosts,
        **({"serial": serial, "max_fail_percentage": 0} if rolls else {}),
        "become": spec.access.ssh_become,
        "gather_facts": facts,
        **({"gather_subset": FACTS} if facts else {}),
        "vars": dict(VARIABLES),
        "tasks": tasks,
    }


def entry(name: str, role: str, step: str, *tags: str) -> Task:
    """Return a role's entry point, imported: its variables are the play's."""
    return {
        "name": name,
        "ansible.builtin.import_role": {"name": role, "tasks_from": step},
        "tags": list(dict.fromkeys([role, *tags])),
    }


def included(name: str, role: str, step: str, tags: list[str]) -> Task:
    """Return a role's entry point, included: it costs nothing where it is skipped."""
    module: dict[str, Any] = {"name": role, "tasks_from": step}
    if tags:
        module["apply"] = {"tags": tags}
    task = {"name": name, "ansible.builtin.include_role": module}
    return {**task, "tags": tags} if tags else task


def demand(name: str, that: str | list[str], message: str) -> Task:
    """Return a claim about the host, or several, and what is said where one does not hold."""
    return {
        "name": name,
        "ansible.builtin.assert": {
            "that": that,
            "quiet": True,
            "fail_msg": f"{{{{ inventory_hostname }}}}: {message}",
        },
    }
