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
    """List the pools that share by MPS and can; the others have a finding that says so."""
    for pool in _mps(spec):
        is_old = pool.gpu.compute_capability < VOLTA
        if not (is_old or pool.mig.is_cut or pool.mig.strategy is MigStrategy.MIXED):
            yield pool


def _is_unsettled(pool: NodePool) -> bool:
    """Tell whether the instances of a pool have a finding of their own."""
    geometry = pool.gpu.geometry
    if pool.mig.strategy is MigStrategy.NONE or not pool.mig.layout:
        return pool.mig.is_cut or pool.mig.strategy is not MigStrategy.NONE
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
                hint="share this pool by time-slicing, or "
                + ("do not cut its GPUs" if pool.mig.is_cut else "write strategy: none"),
                pool=pool.name,
            )


@check("sharing-mps-with-mig", "GG-03")
def mps_with_mig(spec: ClusterSpec) -> Iterator[Problem]:
    """MPS shares whole GPUs; on a MIG instance the device plugin ends with an error.

    Source: k8s-device-plugin v0.19.3, internal/rm: "sharing using MPS is not supported for MIG
    devices".
    """
    for pool in _mps(spec):
        if pool.mig.is_cut and pool.mig.strategy is not MigStrategy.MIXED:
            yield Problem(
                at=pool.sharing.at / "mode",
                message=f"pool {POOL} combines MPS with MIG instances",
                hint="share this pool by time-slicing, or do not cut its GPUs",
                pool=pool.name,
            )


@check("sharing-mps-replicas", "GG-02")
def mps_replicas(spec: ClusterSpec) -> Iterator[Problem]:
    """The MPS control daemon serves 48 clients per GPU, before compute capability 7.5 only 16.

    Beyond that it exits while the plugin waits for it, and no GPU is advertised. Source:
    k8s-device-plugin v0.19.3, cmd/mps-control-daemon/mps/device.go; observed.
    """
    for pool in _mps_that_serves(spec):
        is_older = pool.gpu.compute_capability < (7, 5)
        ceiling = MPS_CEILING_BEFORE_TURING if is_older else MPS_CEILING
        for name, replicas in pool.sharing.resources.items():
            if replicas > ceiling:
                yield Problem(
                    at=pool.sharing.at / "resources" / name,
                    message=f"{replicas} replicas by MPS, but {pool.gpu.id} serves at most"
                    f" {ceiling}",
                    hint=f"take at most {ceiling}",
                    pool=pool.name,
                )


@check("sharing-mps-gpu-too-old", "GG-03")
def mps_too_old(spec: ClusterSpec) -> Iterator[Problem]:
    """GPUs before Volta have no MPS with isolated clients. Source: k8s-device-plugin#647."""
    for pool in _mps(spec):
        if pool.gpu.compute_capability < VOLTA:
            yield Problem(
                at=pool.sharing.at / "mode",
                message=f"{pool.gpu.id} ({pool.gpu.architecture}) is too old for MPS",
                hint="share this pool by time-slicing",
                pool=pool.name,
            )


@check("sharing-mps-always-fails-requests", "GG-05")
def mps_fails_requests(spec: ClusterSpec) -> Iterator[Problem]:
    """With MPS the plugin always refuses requests for more than one unit, before v0.20.0.

    Source: k8s-device-plugin v0.19.3 and v0.20.0, api/config/v1; both observed.
    """
    if parts(version := plugin_version(spec)) >= MPS_MAY_GRANT_SEVERAL:
        return
    for pool in _mps_that_serves(spec):
        if not pool.sharing.fail_requests_greater_than_one:
            yield Problem(
                at=pool.sharing.at / "failRequestsGreaterThanOne",
                message=f"with MPS device plugin {version} refuses requests for more than one unit;"
                " false has no effect",
                hint="leave failRequestsGreaterThanOne out",
                pool=pool.name,
            )


@check("sharing-unknown-resource", "GG-03", "GG-08", at_key=True)
def unknown_resource(spec: ClusterSpec) -> Iterator[Problem]:
    """No device of the pool advertises this resource, so sharing it has no effect.

    Names are those before renaming. Source: k8s-device-plugin v0.19.3, observed.
    """
    for pool in spec.pools:
        devices = count_devices(pool.gpu_count, pool.mig)
        for name in pool.sharing.resources:
            if name in devices or not devices or (name != WHOLE_GPU and _is_unsettled(pool)):
                continue
            offered = ", ".join(sorted(devices))
            base = name.removesuffix(SHARED_SUFFIX)
            hint = f"pool {pool.name!r} offers {offered}"
            if base in devices:
                hint = f"write {base}: names are those before renaming, 'rename' adds .shared"
            yield Problem(
                at=pool.sharing.at / "resources" / name,
                message=f"no device of pool {POOL} is a {name}",
                hint=hint,
                pool=pool.name,
            )


@check("sharing-too-many-units", "GG-02")
def too_many_units(spec: ClusterSpec) -> Iterator[Problem]:
    """A kubelet takes no list of units above 4 MiB: the plugin starts in vain, the node has none.

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
                    message=f"{count * replicas} units of {name} on a node of pool {POOL}:"
                    " a list so long is refused by the kubelet, and the node has none",
                    hint=f"take at most {most} replicas",
                    pool=pool.name,
                )


def _most_replicas(count: int, wanted: int) -> int:
    """Return how many replicas of that many devices fit the message, the wanted ones at most."""
    used = 0
    for number in range(wanted):
        used += count * (UNIT_BYTES + len(str(number)))
        if used > MESSAGE_BYTES:
            return number
    return wanted
