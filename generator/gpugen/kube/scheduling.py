"""Which scheduler serves GPU pods, and when a policy may write its name into them.

With a name that no scheduler serves, a pod stays Pending without condition or event. So the policy
follows the scheduler: the main one by a ConfigMap that a play writes after verification and deletes
before it changes the profile, a second one in the wave after its Deployment.
"""

from __future__ import annotations

from gpugen import kube
from gpugen.model.assembly import KubeObject
from gpugen.model.options import Guardrails, Scheduler
from gpugen.model.spec import ClusterSpec

COMPONENT, GUARDRAILS = "scheduler", "guardrails"
DEFAULT = "default-scheduler"  # the profile of pods that name no scheduler
IN_MAIN, SECOND = "main", "second"
DEPLOYMENT = "gpu-scheduler"  # of a second scheduler
SWITCH, SWITCH_NAMESPACE = "gpugen-gpu-scheduler", "kube-system"  # exists before gpugen comes
SWITCH_KEY = "schedulerName"
COMPLETES_FROM = 36  # minor of Kubernetes with MutatingAdmissionPolicy in v1


def is_main(spec: ClusterSpec, options: Scheduler) -> bool:
    """Tell whether the main scheduler does the bin packing, or a second one.

    By default it is the main one if its hosts are stated and bin packing is on.
    """
    if options.mode == "auto":
        return bool(spec.control_plane.hosts) and options.bin_packing
    return options.mode == IN_MAIN


def name(spec: ClusterSpec) -> str:
    """Return the schedulerName for GPU pods; empty if the default profile serves them, too."""
    options = spec.find(Scheduler)
    return "" if options is None or options.scheduler_name == DEFAULT else options.scheduler_name


def completes(spec: ClusterSpec) -> bool:
    """Tell whether pods are completed: stated, and supported by the cluster's Kubernetes.

    MutatingAdmissionPolicy is in v1 and on from 1.36; before it is beta and off by default. Source:
    kubernetes v1.36.3 and v1.34.1, apiserver/pkg/features/kube_features.go; KEP-3962.
    """
    options = spec.find(Guardrails)
    is_stated = options is not None and not options.is_off and options.complete
    return is_stated and spec.kubernetes.minor >= COMPLETES_FROM


def is_waited_for(spec: ClusterSpec) -> bool:
    """Tell whether a rendered policy sets a second scheduler, whose Deployment has to be ready."""
    options = spec.find(Scheduler)
    return (
        options is not None and not is_main(spec, options) and bool(name(spec)) and completes(spec)
    )


def switch(spec: ClusterSpec) -> KubeObject:
    """Return the ConfigMap with the profile that every main scheduler serves; never in git."""
    served = spec.own(Scheduler).scheduler_name
    return kube.config_map(SWITCH, SWITCH_NAMESPACE, {SWITCH_KEY: served})
