"""The two namespaces of gpugen, each with the Pod Security level that its pods need.

hostPath is outside the level ``baseline``, so agents need ``privileged`` even where their
containers are not; audit and warn are the same, or each roll-out would warn about our own pods.
The quota admits node-critical and cluster-critical pods where an admission configuration limits
them to namespaces with such a quota, as GKE does; elsewhere it limits nothing.
Source: Kubernetes documentation, Pod Security Standards and "Limit Priority Class consumption by
default".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gpugen import kube
from gpugen.components import Component
from gpugen.model.assembly import Contribution, KubeObject, Placed, Wave
from gpugen.model.spec import ClusterSpec

POD_SECURITY_MODES = ("enforce", "audit", "warn")
CRITICAL_CLASSES = ("system-cluster-critical", "system-node-critical")


class Options(NamedTuple):
    """What a spec may say of the namespaces."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]


def contribute(spec: ClusterSpec, options: Options) -> Contribution:
    """Return both namespaces and their quotas."""
    levels = {spec.namespaces.agents: "privileged", spec.namespaces.controllers: "restricted"}
    objects = [
        make
        for name, level in levels.items()
        for make in (_namespace(name, level, options), _critical_pods(name))
    ]
    return Contribution(tuple(Placed(Wave.NAMESPACES, item) for item in objects))


def _namespace(name: str, level: str, options: Options) -> KubeObject:
    security = {f"pod-security.kubernetes.io/{mode}": level for mode in POD_SECURITY_MODES}
    meta = kube.metadata(
        name, labels={**options.labels, **security}, annotations=options.annotations
    )
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}


def _critical_pods(namespace: str) -> KubeObject:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": kube.metadata("critical-pods", namespace=namespace),
        "spec": {
            "hard": {"pods": "1G"},
            "scopeSelector": {
                "matchExpressions": [
                    {
                        "scopeName": "PriorityClass",
                        "operator": "In",
                        "values": list(CRITICAL_CLASSES),
                    }
                ]
            },
        },
    }


COMPONENT = Component(contribute, Options)
