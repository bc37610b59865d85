"""What an agent is given to see GPUs: the least that the runtime still hands devices out for."""

from __future__ import annotations

from typing import Any

import pytest

from gpugen.kube import gpu_access
from support.specs import MIG_POOL, resolved

MIXED = {"/pools/0/mig": {"strategy": "mixed"}}


@pytest.mark.parametrize(
    ("changes", "is_admin", "admin"),
    [({}, False, False), ({}, True, True), (MIXED, False, True), (MIG_POOL, False, True)],
)
def test_only_who_needs_it_is_admin(changes: Any, is_admin: bool, admin: bool) -> None:
    spec = resolved(changes)
    context = gpu_access.security(spec, spec.pools[0], is_admin=is_admin)
    assert ("SYS_ADMIN" in str(context.get("capabilities", {}).get("add"))) is admin
    assert not context.get("privileged")


def test_monitoring_of_mig_is_asked_for_where_mig_may_be() -> None:
    names = [
        {one["name"] for one in gpu_access.environment(resolved(changes).pools[0])}
        for changes in ({}, MIXED)
    ]
    assert names[1] - names[0] == {"NVIDIA_MIG_MONITOR_DEVICES"}


def test_only_the_clusters_mig_manager_pauses_agents() -> None:
    label = {"nvidia.com/gpu.deploy.dcgm-exporter": "true"}
    (pool,) = resolved(MIG_POOL).pools
    (uncut,) = resolved().pools
    (by_host,) = resolved({**MIG_POOL, "/pools/0/mig/manager": "host"}).pools
    assert gpu_access.pause_label(pool, "dcgm-exporter") == label
    assert gpu_access.pause_label(uncut, "dcgm-exporter") == {}
    assert gpu_access.pause_label(by_host, "dcgm-exporter") == {}
