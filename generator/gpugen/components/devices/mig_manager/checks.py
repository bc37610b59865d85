"""Checks of pools with a MIG layout: whether something applies it, and can."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.components import stacks
from gpugen.components.devices.mig_manager import NAME
from gpugen.model.finding import ROOT, Severity
from gpugen.model.spec import ClusterSpec


@check("mig-manager-without-kubelet-unit", "DIST-19", "GG-13")
def without_kubelet_unit(spec: ClusterSpec) -> Iterator[Problem]:
    """The cluster's MIG manager must stop the kubelet to switch MIG mode on or off.

    It stops a systemd unit of that name and skips a missing one silently. On k3s, RKE2 and k0s the
    kubelet is part of another unit, so it would keep the GPUs open during their reset. Source:
    NVIDIA/mig-parted v0.14.5, internal/systemd/systemd.go, StopSystemdServices.
    """
    distribution = spec.kubernetes.distribution
    if distribution.kubelet_unit:
        return
    for pool in stacks.pools(spec, NAME):
        yield Problem(
            at=pool.mig.at / "manager",
            message=f"the MIG layout of pool {POOL} is applied by the cluster's MIG manager,"
            f" which stops kubelet.service; {distribution.id} has no such unit",
            hint="write manager: host, or remove manager: host is the default on this distribution",
            pool=pool.name,
        )


@check("mig-manager-switched-off", "GG-13")
def switched_off(spec: ClusterSpec) -> Iterator[Problem]:
    """A pool has a MIG layout for the cluster's manager, but the manager is switched off.

    Its GPUs would stay as they are, so the node would advertise whole GPUs or old instances.
    """
    if NAME in spec.options:
        return
    for pool in stacks.pools(spec, NAME):
        yield Problem(
            at=ROOT / "components" / NAME,
            message=f"{NAME} is switched off, but pool {POOL} has a MIG layout for it to apply",
            hint=f"remove {NAME}: false, or write manager: host under the pool's mig",
            pool=pool.name,
        )


@check("mig-manager-without-work", severity=Severity.WARNING, component=NAME)
def without_work(spec: ClusterSpec) -> Iterator[Problem]:
    """The MIG manager is configured, but no pool has a layout for it: nothing is rendered."""
    if not stacks.pools(spec, NAME):
        yield Problem(
            at=ROOT / "components" / NAME,
            message=f"{NAME} has no effect: no pool has a mig.layout that the cluster's manager"
            " applies",
            hint=f"remove {NAME}, or give a pool a layout with manager: cluster",
        )
