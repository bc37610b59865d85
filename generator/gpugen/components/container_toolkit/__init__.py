"""The NVIDIA container toolkit on the hosts, and how the distribution's containerd learns of it."""

from __future__ import annotations

from typing import Any

from gpugen.components import Component, Options
from gpugen.model.plan import Contribution
from gpugen.model.spec import ClusterSpec

ROLE = "nvidia_container_toolkit"
DROP_IN = "99-nvidia.toml"
PREFIX = f"{ROLE}_"


def contribute(spec: ClusterSpec, _options: Options) -> Contribution:
    """Return the role, the version of every pool, and what all hosts of the cluster share."""
    return Contribution(
        host_variables={
            pool.name: {f"{PREFIX}version": pool.host.container_toolkit_version}
            for pool in spec.pools
        },
        cluster_variables={
            **{f"{PREFIX}{name}": value for name, value in _runtime(spec).items()},
            f"{PREFIX}config": toolkit_config(spec.device_list_strategy),
        },
        roles=(ROLE,),
    )


def _runtime(spec: ClusterSpec) -> dict[str, Any]:
    """Return how the runtime learns of the toolkit, from the distribution's row.

    detect: it looks for the toolkit when it starts. merge: the distribution merges drop-ins itself
    and reloads. import: containerd imports them.
    """
    distribution = spec.kubernetes.distribution
    runtime = distribution.row["runtime"]
    shared = {"services": [f"{unit}.service" for unit in runtime["units"]]}
    if distribution.detects_nvidia:
        return {"mode": "detect", "effective": runtime["configFile"], **shared}
    drop_in = {
        "dropin": f"{runtime['dropInFolder']}/{DROP_IN}",
        "enable_cdi": any(s.startswith("cdi-") for s in spec.device_list_strategy),
    }
    if "mergedFile" in runtime:
        version = _merged_version(runtime["rootVersion"], spec.kubernetes.minor)
        return {
            "mode": "merge",
            "root": runtime["configFile"],
            "effective": runtime["mergedFile"],
            "dropin_version": version,
            **drop_in,
            **shared,
        }
    return {
        "mode": "import",
        "root": runtime["configFile"],
        "socket": runtime["socket"],
        **drop_in,
        **shared,
    }


def _merged_version(rows: list[dict[str, Any]], minor: int) -> int:
    """Return the version that a merged drop-in declares; another stops the worker (DIST-06)."""
    return next(int(row["declares"]) for row in rows if minor <= row.get("untilMinor", minor))


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
