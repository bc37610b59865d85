"""A pool: its GPUs, how they are partitioned and shared, and its hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugen.gpu.prediction import predict
from gpugen.model.finding import ROOT, Pointer
from gpugen.model.platform import Distribution
from gpugen.model.spec import (
    Mig,
    MigEntry,
    MigManager,
    MigStrategy,
    NodePool,
    Sharing,
    SharingMode,
    Taint,
)
from gpugen.resolve.context import Context
from gpugen.resolve.host_lines import host_line, own_ssh
from gpugen.resolve.host_settings import host_settings


def node_pool(
    context: Context,
    pool: Mapping[str, Any],
    index: int,
    distribution: Distribution | None,
    strategies: tuple[str, ...],
) -> NodePool | None:
    """Return a pool; None if something that it names or needs is missing."""
    at = ROOT / "pools" / index
    gpu = context.row(context.catalog.gpu, pool["gpu"]["model"], at / "gpu" / "model")
    host = host_settings(context, index, gpu)
    if gpu is None or host is None:
        return None
    count = pool["gpu"]["count"]
    mig = mig_of(pool.get("mig"), count, at, distribution)
    sharing = _sharing(pool.get("sharing"), at / "sharing")
    return NodePool(
        name=pool["name"],
        description=pool["description"],
        gpu=gpu,
        gpu_count=count,
        hosts=tuple(
            host_line(line, context.hosts, at / "hosts" / i) for i, line in enumerate(pool["hosts"])
        ),
        labels=dict(sorted(pool["labels"].items())),
        taints=tuple(
            Taint(t["key"], t["value"], t["effect"], at / "taints" / i)
            for i, t in enumerate(pool["taints"])
        ),
        mig=mig,
        sharing=sharing,
        host=host,
        prediction=predict(pool["name"], gpu, count, mig, sharing, host.driver, strategies),
        at=at,
        ssh=own_ssh(pool, at),
    )


def mig_of(
    data: Mapping[str, Any] | None, gpu_count: int, pool: Pointer, distribution: Distribution | None
) -> Mig:
    """Return a pool's MIG settings; no layout if not stated."""
    at = pool / "mig"
    default = MigManager.CLUSTER
    if distribution is not None and not distribution.kubelet_unit:
        default = MigManager.HOST
    if data is None:
        return Mig(MigStrategy.NONE, default, (), at)
    layout = tuple(
        MigEntry(
            gpus=tuple(range(gpu_count))
            if entry["gpus"] == "all"
            else tuple(sorted(entry["gpus"])),
            profiles=dict(sorted(entry["profiles"].items())),
            at=at / "layout" / i,
        )
        for i, entry in enumerate(data.get("layout", ()))
    )
    manager = MigManager(data["manager"]) if "manager" in data else default
    return Mig(MigStrategy(data["strategy"]), manager, layout, at)


def _sharing(data: Mapping[str, Any] | None, at: Pointer) -> Sharing:
    if data is None:
        return Sharing(
            SharingMode.NONE, {}, rename=False, fail_requests_greater_than_one=True, at=at
        )
    return Sharing(
        mode=SharingMode(data["mode"]),
        resources=dict(sorted(data["resources"].items())),
        rename=data["rename"],
        fail_requests_greater_than_one=data["failRequestsGreaterThanOne"],
        at=at,
    )
