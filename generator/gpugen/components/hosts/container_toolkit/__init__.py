"""The NVIDIA container toolkit on the hosts, and the configuration of their runtimes."""

from __future__ import annotations

from typing import Any

from gpugen.components import Component
from gpugen.model.assembly import Contribution
from gpugen.model.platform import Runtime
from gpugen.model.spec import ClusterSpec, NodePool

ROLE = "nvidia_container_toolkit"
CONTAINERD = "containerd"
DROP_IN = "99-nvidia.toml"
KUBELET_ROOT = "/var/lib/kubelet"  # the role's default
PREFIX = f"{ROLE}_"


def contribute(spec: ClusterSpec, _: None) -> Contribution:
    """Return the role, and the variables of pools and of all hosts."""
    return Contribution(
        host_variables={
            pool.name: {f"{PREFIX}{name}": value for name, value in _own(spec, pool).items()}
            for pool in spec.pools
        },
        cluster_variables={
            **{f"{PREFIX}{name}": value for name, value in _shared(spec).items()},
            f"{PREFIX}config": toolkit_config(spec.device_list_strategy),
            **{f"{PREFIX}{name}": value for name, value in _draining(spec).items()},
        },
        roles=(ROLE,),
    )


def _own(spec: ClusterSpec, pool: NodePool) -> dict[str, Any]:
    """Return what may differ between pools, without the role's defaults."""
    runtimes = _runtimes(spec, pool)
    version = pool.host.container_toolkit_version
    own: dict[str, Any] = {"version": version, "expected_gpus": pool.gpu_count}
    if runtimes != [CONTAINERD]:
        own["runtimes"] = runtimes
    if pool.host.default_runtime:
        own["default_runtime"] = True
    if pool.host.smoke_test_image:
        own["smoke_test"] = pool.host.smoke_test_image
    return own


def _draining(spec: ClusterSpec) -> dict[str, Any]:
    """Return how packages of earlier versions may be removed from a node (CTK-04)."""
    root = spec.kubernetes.distribution.kubelet_root
    return {
        **({"can_drain": True} if spec.access.kubeconfig_context else {}),
        **({"kubelet_root": root} if root != KUBELET_ROOT else {}),
    }


def _runtimes(spec: ClusterSpec, pool: NodePool) -> list[str]:
    """Return the runtimes of a pool's hosts to configure, the cluster's own first."""
    return list(dict.fromkeys((spec.kubernetes.container_runtime, *pool.host.further_runtimes)))


def _shared(spec: ClusterSpec) -> dict[str, Any]:
    """Return what all hosts share, for their runtimes."""
    used = {runtime for pool in spec.pools for runtime in _runtimes(spec, pool)}
    shared = _containerd(spec) if CONTAINERD in used else {}
    if shared.get("mode") == "detect" and used == {CONTAINERD}:
        return shared
    uses_cdi = any(strategy.startswith("cdi-") for strategy in spec.device_list_strategy)
    return {**shared, "enable_cdi": uses_cdi}


def _containerd(spec: ClusterSpec) -> dict[str, Any]:
    """Return how containerd is configured, from the distribution's row (DIST-01, DIST-05).

    detect: it detects the toolkit at start, so a drop-in would be a duplicate (DIST-03). merge: the
    distribution merges drop-ins itself and reloads. import: containerd imports them.
    """
    runtime = spec.kubernetes.distribution.runtime
    shared = {
        "services": [f"{unit}.service" for unit in runtime.units],
        "socket": runtime.socket,
        **({"client": list(runtime.client)} if runtime.client else {}),
    }
    if spec.kubernetes.distribution.detects_nvidia:
        default = {"default_file": runtime.default_file} if runtime.default_file else {}
        return {"mode": "detect", "effective": runtime.config_file, **default, **shared}
    places = {
        "root": runtime.config_file,
        "dropin": f"{runtime.drop_in_folder}/{DROP_IN}",
        **shared,
    }
    if runtime.merged_file:
        version = merged_version(runtime, spec.kubernetes.minor)
        merged = {"effective": runtime.merged_file, "dropin_version": version}
        return {"mode": "merge", **merged, **places}
    return {"mode": "import", **places}


def merged_version(runtime: Runtime, minor: int) -> int:
    """Return the version that a merged drop-in declares; another stops the worker (DIST-02).

    0: the row does not say; the role then refuses the host.
    """
    rows = runtime.root_versions
    return next((row.declares for row in rows if f"1.{minor}" in row.minors), 0)


def toolkit_config(strategies: tuple[str, ...]) -> dict[str, str]:
    """Return the toolkit's own configuration for these device list strategies.

    Volume mounts work only if enabled, and then the environment must be disabled (CTK-13).
    """
    if "volume-mounts" not in strategies:
        return {}
    return {
        "accept-nvidia-visible-devices-as-volume-mounts": "true",
        "accept-nvidia-visible-devices-envvar-when-unprivileged": "false",
    }


COMPONENT = Component(contribute)
