"""Bin packing in the main scheduler: which mode is meant, and the variables of the host role.

What differs between distributions stands in their rows of the catalogue, under scheduler.main.
"""

from __future__ import annotations

from typing import Any

from gpugen import kube
from gpugen.components.scheduling.scheduler import packing
from gpugen.kube import scheduling
from gpugen.model.assembly import Contribution
from gpugen.model.options import Scheduler
from gpugen.model.platform import MainScheduler
from gpugen.model.spec import ClusterSpec

ROLE = "kube_scheduler"
PREFIX = f"{ROLE}_"


def contribution(spec: ClusterSpec, options: Scheduler) -> Contribution:
    """Return the host role and its variables; nothing where the distribution has no way for it."""
    main = spec.kubernetes.distribution.main_scheduler
    if main is None:
        return Contribution()
    own = {
        "configuration": packing.of_main(spec, options),
        "version": spec.kubernetes.version,
        "kubectl": _kubectl(spec),
        **_switch(spec),
        **_places(main),
    }
    if main.in_process:  # no program of the scheduler lies on the host
        own["image"] = kube.image(spec, "scheduler")
    variables = {f"{PREFIX}{name}": value for name, value in sorted(own.items())}
    return Contribution(control_plane_variables=variables, roles=(ROLE,))


def _switch(spec: ClusterSpec) -> dict[str, Any]:
    """Return how the play tells the cluster what its schedulers serve; nothing without a context.

    Whoever gives pods the profile's name reads it; it stays true without such a policy, too.
    """
    if not spec.access.kubeconfig_context:
        return {}
    return {
        "context": spec.access.kubeconfig_context,
        "cluster_uid": spec.access.cluster_uid,
        "switch": scheduling.switch(spec),
    }


def _kubectl(spec: ClusterSpec) -> list[str]:
    """Return the command line of kubectl on the host itself."""
    row = spec.kubernetes.distribution
    return [*row.kubectl.split(), f"--kubeconfig={row.kubeconfig}"]


def _places(main: MainScheduler) -> dict[str, Any]:
    """Return what the row says, in the role's words; the role has defaults for what it does not."""
    own = {**main._asdict(), "lines": main.lines.replace("{file}", main.file)}
    return {name: value for name, value in own.items() if value}
