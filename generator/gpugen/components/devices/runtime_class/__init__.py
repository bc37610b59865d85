"""RuntimeClass ``nvidia``, by which a pod selects the NVIDIA runtime.

Handler and class have one name everywhere. k3s and RKE2 ship a class with the same name; two owners
would overwrite each other.
"""

from __future__ import annotations

from gpugen import kube
from gpugen.components import Component
from gpugen.model.assembly import Contribution, Placed, Wave
from gpugen.model.spec import ClusterSpec

HANDLER = "nvidia"  # the name under which the host role registers the runtime


def contribute(_spec: ClusterSpec, _: None) -> Contribution:
    """Return the RuntimeClass."""
    runtime_class = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": kube.metadata(kube.RUNTIME_CLASS),
        "handler": HANDLER,
    }
    return Contribution((Placed(Wave.DEVICES, runtime_class),))


COMPONENT = Component(contribute)
