"""The KubeSchedulerConfiguration for bin packing, of the main scheduler or of a second one.

Every supported minor version reads kubescheduler.config.k8s.io/v1 (1.25 and newer).
"""

from __future__ import annotations

from typing import Any

from gpugen.model.options import Scheduler
from gpugen.model.spec import ClusterSpec

MAIN = "default-scheduler"  # the profile of pods that name no scheduler
_HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def of_second(spec: ClusterSpec, options: Scheduler, lease: str) -> dict[str, Any]:
    """Return the configuration of a second scheduler. lease: elects the leader of its replicas."""
    return {
        **_HEAD,
        "leaderElection": {
            "leaderElect": True,
            "resourceLock": "leases",
            "resourceName": lease,
            "resourceNamespace": spec.namespaces.controllers,
        },
        "profiles": [_profile(spec, options)],
    }


def of_main(spec: ClusterSpec, options: Scheduler) -> dict[str, Any]:
    """Return the configuration of the main scheduler, as far as the spec decides it.

    A file replaces flags: it has to name the kubeconfig, and disables profiling, which
    distributions disable by a flag. Source: kubernetes v1.36.3, cmd/kube-scheduler/app/options.
    """
    own = _profile(spec, options)
    others = [] if own["schedulerName"] == MAIN else [{"schedulerName": MAIN}]
    return {
        **_HEAD,
        "clientConnection": {"kubeconfig": spec.kubernetes.distribution.scheduler_kubeconfig},
        "enableProfiling": False,
        "leaderElection": {"leaderElect": True},
        "profiles": [*others, own],
    }


def _profile(spec: ClusterSpec, options: Scheduler) -> dict[str, Any]:
    profile: dict[str, Any] = {"schedulerName": options.scheduler_name}
    return profile | _packing(spec, options) if options.bin_packing else profile


def _packing(spec: ClusterSpec, options: Scheduler) -> dict[str, Any]:
    """Return the profile's bin packing.

    Resources that are not listed do not count, so every name that any pool advertises is listed;
    only those that a pod requests count for it. A scheduler that samples nodes misses the fullest
    one, and default spreading over hosts works against bin packing.
    """
    fit = {"name": "NodeResourcesFit", "weight": options.score_weight}
    weights = options.weights
    names = sorted({name for pool in spec.pools for name in pool.prediction.capacity})
    resources = [{"name": name, "weight": weights.gpu} for name in names]
    resources += [
        {"name": "cpu", "weight": weights.cpu},
        {"name": "memory", "weight": weights.memory},
    ]
    return {
        "percentageOfNodesToScore": 100,
        "plugins": {"multiPoint": {"enabled": [fit]}},  # replaces the default weight, 1
        "pluginConfig": [
            {
                "name": "NodeResourcesFit",
                "args": {"scoringStrategy": {"type": "MostAllocated", "resources": resources}},
            },
            {
                "name": "PodTopologySpread",
                "args": {"defaultingType": "List", "defaultConstraints": []},
            },
        ],
    }
