"""What decisions of roles are told: variables of hosts, rendered by gpugen, with defaults."""

from __future__ import annotations

from functools import cache
from typing import Any

from support import ROOT, ansible_yaml
from support.hosts_half import VARIABLES, rendered
from support.specs import MIG_POOL

TUNING = {
    "powerLimitWatts": 250,
    "ecc": True,
    "iommu": "pt",
    "hugepages": {"2Mi": 64},
    "limits": {"memlock": "infinity"},
}
SPECS: dict[str, dict[str, Any]] = {  # what no inventory has
    "mig": {**MIG_POOL, "/pools/0/mig/manager": "host"},
    "dcgm": {"/hostDefaults/dcgm": {"version": "4.5.3"}},
    "tuning": {"/hostDefaults/tuning": TUNING},
}
DISTRIBUTIONS = ("kubeadm", "k3s", "k0s")  # of each mode of the scheduler one
CONTROL_PLANE = {
    "/controlPlane": {"hosts": ["cp-1.lab.example"]},
    "/components": {"scheduler": True},
}


def names() -> list[str]:
    """List the roles that decide."""
    folder = ROOT / "plugins" / "plugin_utils"
    modules = {path.stem for path in folder.iterdir()}
    return sorted(role.name for role in (ROOT / "roles").iterdir() if role.name in modules)


@cache
def _options(role: str) -> dict[str, dict[str, Any]]:
    text = (ROOT / "roles" / role / "meta" / "argument_specs.yml").read_text("utf-8")
    found: dict[str, dict[str, Any]] = ansible_yaml.read(text)["argument_specs"]["main"]["options"]
    return found


def wanted(**stated: Any) -> dict[str, Any]:
    """Return stated variables with all defaults of all roles, and what Ansible adds."""
    found: dict[str, Any] = {
        "state": "present",
        "check_mode": False,
        "inventory_hostname": "node-1",
        "playbook_dir": "/plays",
        "gpu_node_name": "node-1",  # of each host
    }
    for role in sorted((ROOT / "roles").iterdir()):
        defaults = {name: option.get("default") for name, option in _options(role.name).items()}
        found = defaults | found
    return found | stated


@cache
def examples() -> dict[str, dict[str, Any]]:
    """Return the variables of every rendered example, by cluster and pool."""
    found = {}
    for path in sorted((ROOT / "out").glob("*/ansible/inventory/group_vars/pool_*.yml")):
        every = ansible_yaml.read((path.parent / "all.yml").read_text("utf-8"))
        own = ansible_yaml.read(path.read_text("utf-8"))
        found[f"{path.parts[-5]}-{path.stem}"] = wanted(**{**every, **own})
    for name, changes in SPECS.items():
        tree = rendered(changes)
        files = [f"{VARIABLES}/{group}.yml" for group in ("all", "pool_a100")]
        every, own = (ansible_yaml.read(tree[file]) for file in files)
        found[name] = wanted(**{**every, **own})
    for distribution in DISTRIBUTIONS:
        changes = {**CONTROL_PLANE, "/kubernetes/distribution": distribution}
        text = rendered(changes)[f"{VARIABLES}/control_plane.yml"]
        found[f"control-plane-{distribution}"] = wanted(**ansible_yaml.read(text))
    return found


def is_in_use(role: str, own: dict[str, Any]) -> bool:
    """Tell whether variables state all that a role requires."""
    required = [name for name, option in _options(role).items() if option.get("required")]
    return all(own[name] is not None for name in required)
