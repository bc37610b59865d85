"""Reserved names of the inventory: groups, and the control host."""

from __future__ import annotations

ALL_HOSTS = "gpu"  # group of all pools
CONTROL_PLANE = "control_plane"  # group of the cluster's control-plane nodes
CONTROL_HOST = "gpugen_control"  # where kubectl runs; host names of specs have no underscore
OF_ANSIBLE = ("all", "ungrouped")  # groups that every inventory has


def pool_group(pool: str) -> str:
    """Return the inventory group of a pool."""
    return f"pool_{pool.replace('-', '_')}"
