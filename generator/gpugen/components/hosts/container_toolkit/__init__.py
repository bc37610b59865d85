"""The NVIDIA container toolkit on the hosts, and how the runtimes there learn of it."""

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
    """Return the role, what every pool's hosts get, and what all hosts of the cluster share."""
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
    """Return what may differ between pools; what the role's defaults say is left out."""
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
    """Return how packages of former times may leave a node at work (CTK-04)."""
    root = spec.kubernetes.distribution.kubelet_root
    return {
        **({"can_drain": True} if spec.access.kubeconfig_context else {}),
        **({"kubelet_root": root} if root != KUBELET_ROOT else {}),
    }


def _runtimes(spec: ClusterSpec, pool: NodePool) -> list[str]:
    """Return the runtimes of a pool's hosts that learn of the toolkit, the cluster's own first."""
    return list(dict.fromkeys((spec.kubernetes.container_runtime, *pool.host.further_runtimes)))


def _shared(spec: ClusterSpec) -> dict[str, Any]:
    """Return what all hosts share, for the runtimes that they have."""
    used = {runtime for pool in spec.pools for runtime in _runtimes(spec, pool)}
    shared = _containerd(spec) if CONTAINERD in used else {}
    if shared.get("mode") == "detect" and used == {CONTAINERD}:
        return shared
    uses_cdi = any(strategy.startswith("cdi-") for strategy in spec.device_list_strategy)
    return {**shared, "enable_cdi": uses_cdi}


def _containerd(spec: ClusterSpec) -> dict[str, Any]:
    """Return how containerd learns of the toolkit, from the distribution's row (DIST-01, DIST-05).

    detect: it looks for the toolkit when it starts, and a drop-in of ours would be there twice
    (DIST-03). merge: the distribution merges drop-ins itself and reloads. import: containerd
    imports them.
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
    """Return what the toolkit's own configuration must say for these device list strategies.

    Volume mounts are honoured only when asked for, and then the environment must not be (CTK-13).
    """
    if "volume-mounts" not in strategies:
        return {}
    return {
        "accept-nvidia-visible-devices-as-volume-mounts": "true",
        "accept-nvidia-visible-devices-envvar-when-unprivileged": "false",
    }


COMPONENT = Component(contribute)
