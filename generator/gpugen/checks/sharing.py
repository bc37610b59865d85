"""Checks of sharing by time-slicing and MPS."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.gpu import mig
from gpugen.gpu.devices import WHOLE_GPU, count_devices, plugin_version
from gpugen.gpu.prediction import SHARED_SUFFIX
from gpugen.model.spec import ClusterSpec, MigStrategy, NodePool, SharingMode
from gpugen.text.versions import parts

VOLTA = (7, 0)
MPS_MAY_GRANT_SEVERAL = (0, 20, 0)  # device plugin in which failRequestsGreaterThanOne may be false
MPS_CEILING = 48
MPS_CEILING_BEFORE_TURING = 16
MESSAGE_BYTES = 4 << 20  # gRPC's default, which the kubelet leaves as it is
UNIT_BYTES = 61  # of a unit in the plugin's message, NUMA node included, less its number's digits


def _mps(spec: ClusterSpec) -> Iterator[NodePool]:
    return (pool for pool in spec.pools if pool.sharing.mode is SharingMode.MPS)


def _mps_that_serves(spec: ClusterSpec) -> Iterator[NodePool]:
    """List the pools that share by MPS and can; the others have their own finding."""
    for pool in _mps(spec):
        is_old = pool.gpu.compute_capability < VOLTA
        if not (is_old or pool.mig.has_instances or pool.mig.strategy is MigStrategy.MIXED):
            yield pool


def _is_unsettled(pool: NodePool) -> bool:
    """Tell whether a pool's MIG instances have their own finding."""
    geometry = pool.gpu.geometry
    if pool.mig.strategy is MigStrategy.NONE or not pool.mig.layout:
        return pool.mig.has_instances or pool.mig.strategy is not MigStrategy.NONE
    named = {profile for entry in pool.mig.layout for profile in entry.profiles}
    return geometry is None or any(
        isinstance(mig.gpu_instances(geometry, {profile: 1}), mig.Refusal) for profile in named
    )


@check("sharing-mps-with-mixed-mig", "GG-03")
def mps_with_mixed_mig(spec: ClusterSpec) -> Iterator[Problem]:
    """The device plugin refuses to start with MPS and the mixed MIG strategy.

    Source: k8s-device-plugin v0.19.3, cmd/nvidia-device-plugin, validateFlags; observed.
    """
    for pool in _mps(spec):
        if pool.mig.strategy is MigStrategy.MIXED:
            yield Problem(
                at=pool.sharing.at / "mode",
                message=f"pool {POOL} combines MPS with MIG strategy 'mixed'",
                hint="use mode: time-slicing for this pool, or "
                + ("remove its MIG layout" if pool.mig.has_instances else "write strategy: none"),
                pool=pool.name,
            )


@check("sharing-mps-with-mig", "GG-03")
def mps_with_mig(spec: ClusterSpec) -> Iterator[Problem]:
    """MPS shares whole GPUs only; for MIG instances the device plugin exits with an error.

    Source: k8s-device-plugin v0.19.3, internal/rm: "sharing using MPS is not supported for MIG
    devices".
    """
    for pool in _mps(spec):
        if pool.mig.has_instances and pool.mig.strategy is not MigStrategy.MIXED:
            yield Problem(
                at=pool.sharing.at / "mode",
                message=f"pool {POOL} combines MPS with MIG instances",
                hint="use mode: time-slicing for this pool, or remove its MIG layout",
                pool=pool.name,
            )


@check("sharing-mps-replicas", "GG-02")
def mps_replicas(spec: ClusterSpec) -> Iterator[Problem]:
    """The MPS control daemon allows 48 clients per GPU, 16 before compute capability 7.5.

    Above that it exits, the plugin waits for it, and no GPU is advertised. Source:
    k8s-device-plugin v0.19.3, cmd/mps-control-daemon/mps/device.go; observed.
    """
    for pool in _mps_that_serves(spec):
        is_older = pool.gpu.compute_capability < (7, 5)
        ceiling = MPS_CEILING_BEFORE_TURING if is_older else MPS_CEILING
        for name, replicas in pool.sharing.resources.items():
            if replicas > ceiling:
                yield Problem(
                    at=pool.sharing.at / "resources" / name,
                    message=f"{replicas} MPS replicas, but {pool.gpu.id} allows at most {ceiling}",
                    hint=f"write at most {ceiling}",
                    pool=pool.name,
                )


@check("sharing-mps-gpu-too-old", "GG-03")
def mps_too_old(spec: ClusterSpec) -> Iterator[Problem]:
    """GPUs older than Volta have no MPS with isolated clients. Source: k8s-device-plugin#647."""
    for pool in _mps(spec):
        if pool.gpu.compute_capability < VOLTA:
            yield Problem(
                at=pool.sharing.at / "mode",
                message=f"{pool.gpu.id} ({pool.gpu.architecture}) does not support MPS",
                hint="use mode: time-slicing for this pool",
                pool=pool.name,
            )


@check("sharing-mps-always-fails-requests", "GG-05")
def mps_fails_requests(spec: ClusterSpec) -> Iterator[Problem]:
    """With MPS, device plugins before v0.20.0 always reject requests for more than one unit.

    Source: k8s-device-plugin v0.19.3 and v0.20.0, api/config/v1; both observed.
    """
    if parts(version := plugin_version(spec)) >= MPS_MAY_GRANT_SEVERAL:
        return
    for pool in _mps_that_serves(spec):
        if not pool.sharing.fail_requests_greater_than_one:
            yield Problem(
                at=pool.sharing.at / "failRequestsGreaterThanOne",
                message="failRequestsGreaterThanOne: false has no effect: with MPS, device"
                f" plugin {version} rejects requests for more than one unit",
                hint="remove failRequestsGreaterThanOne",
                pool=pool.name,
            )


@check("sharing-unknown-resource", "GG-03", "GG-08", at_key=True)
def unknown_resource(spec: ClusterSpec) -> Iterator[Problem]:
    """The pool does not advertise this resource, so sharing it has no effect.

    Names are those before renaming. Source: k8s-device-plugin v0.19.3, observed.
    """
    for pool in spec.pools:
        devices = count_devices(pool.gpu_count, pool.mig)
        for name in pool.sharing.resources:
            if name in devices or not devices or (name != WHOLE_GPU and _is_unsettled(pool)):
                continue
            offered = ", ".join(sorted(devices))
            base = name.removesuffix(SHARED_SUFFIX)
            hint = f"pool {pool.name!r} advertises {offered}"
            if base in devices:
                hint = f"write {base}: names are those before renaming, 'rename' adds .shared"
            yield Problem(
                at=pool.sharing.at / "resources" / name,
                message=f"pool {POOL} does not advertise {name}",
                hint=hint,
                pool=pool.name,
            )


@check("sharing-too-many-units", "GG-02")
def too_many_units(spec: ClusterSpec) -> Iterator[Problem]:
    """A kubelet rejects a device list above 4 MiB, so the node would have no units at all.

    Source: kubernetes v1.36.3, pkg/kubelet/cm/devicemanager/plugin/v1beta1/client.go;
    k8s-device-plugin v0.19.3, internal/rm/devices.go; observed.
    """
    for pool in spec.pools:
        devices = count_devices(pool.gpu_count, pool.mig)
        for name, replicas in pool.sharing.resources.items():
            count = devices.get(name, (0, ""))[0]
            most = _most_replicas(count, replicas)
            if most < replicas:
                yield Problem(
                    at=pool.sharing.at / "resources" / name,
                    message=f"a node of pool {POOL} has {count * replicas} units of {name}: too"
                    " many for the kubelet's device list (4 MiB), so the node would"
                    " advertise none",
                    hint=f"write at most {most} replicas",
                    pool=pool.name,
                )


def _most_replicas(count: int, stated: int) -> int:
    """Return how many replicas of that many devices fit into the message, at most those stated."""
    used = 0
    for number in range(stated):
        used += count * (UNIT_BYTES + len(str(number)))
        if used > MESSAGE_BYTES:
            return number
    return stated
