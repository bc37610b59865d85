"""The plays of a cluster as data: judge every host, then bring batches of them to the spec."""

from __future__ import annotations

from typing import Any

from gpugen.model.spec import ClusterSpec

ALL_HOSTS = "gpu"  # group of all pools
FACTS = ["!all", "!min", "distribution", "kernel", "pkg_mgr", "python", "service_mgr"]
BATCHES = "{{ gpugen_serial | default([1, '10%'], true) }}"
JUDGED = ("gpu_prerequisites", "nvidia_driver", "nvidia_container_toolkit")  # have a preflight
ORDER = (*JUDGED, "gpu_node")
DRIVER = "nvidia_driver"
DISRUPTIVE = "disruptive"  # tag of what interrupts a host


def in_order(roles: tuple[str, ...]) -> list[str]:
    """Sort roles as a host runs them."""
    return sorted(roles, key=ORDER.index)


def plays(spec: ClusterSpec, roles: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the plays; tags are the roles' names."""
    ordered = in_order(roles)
    become = spec.access.ssh_become
    judge = {
        "name": "Judge every host before any is touched",
        "hosts": ALL_HOSTS,
        "become": become,
        "gather_facts": True,
        "gather_subset": FACTS,
        "tasks": [
            _role(f"Judge by {role}", role, "preflight", "preflight")
            for role in ordered
            if role in JUDGED
        ],
    }
    converge: dict[str, Any] = {
        "name": "Bring hosts to the spec, batch by batch",
        "hosts": ALL_HOSTS,
        "serial": BATCHES,
        "max_fail_percentage": 0,
        "become": become,
        "gather_facts": False,
        "tasks": [task for role in ordered for task in _steps(role)],
    }
    return [judge, converge]


def _steps(role: str) -> list[dict[str, Any]]:
    entry = "converge" if role in JUDGED else "main"
    step = _role(f"Run {role}", role, entry)
    return [step, _reboot()] if role == DRIVER else [step]


def _role(name: str, role: str, entry: str, *tags: str) -> dict[str, Any]:
    return {
        "name": name,
        "ansible.builtin.import_role": {"name": role, "tasks_from": entry},
        "tags": [role, *tags],
    }


def _reboot() -> dict[str, Any]:
    """Return what happens where the driver's role reports that a reboot is due.

    The role never reboots. A node with a running kubelet is not rebooted either: draining it is
    not this playbook's work. Others reboot when the command line says so.
    """
    return {
        "name": "Reboot where the loaded driver is not the wanted one",
        "when": ["nvidia_driver_reboot_due | bool", "not ansible_check_mode"],
        "tags": [DRIVER],
        "block": [
            _demand(
                "Stop where the kubelet runs",
                "not (nvidia_driver_kubelet_runs | bool)",
                "reboot due, and the kubelet runs: drain the node, reboot it, run the play again",
            ),
            _demand(
                "Stop where no reboot is allowed",
                "gpugen_reboot | bool",
                "reboot due: run again with -e gpugen_reboot=true, or reboot the host yourself",
            ),
            {
                "name": "Reboot",
                "ansible.builtin.reboot": {"reboot_timeout": 1800},
                "tags": [DISRUPTIVE],
            },
            {
                "name": "Verify the driver after the reboot",
                "ansible.builtin.include_role": {"name": DRIVER, "tasks_from": "after_reboot"},
            },
        ],
    }


def _demand(name: str, that: str, message: str) -> dict[str, Any]:
    return {
        "name": name,
        "ansible.builtin.assert": {
            "that": that,
            "quiet": True,
            "fail_msg": f"{{{{ inventory_hostname }}}}: {message}",
        },
    }
